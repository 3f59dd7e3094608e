// abi.hpp - refuses a program that was compiled with headers of another version than its library's,
// and a process that mixes two copies of weft.
//
// docs/design/abi.md has the cases, and what was rejected. The models are built without the
// library.
#pragma once

#include <weft/detail/export.hpp>

/// The version of these headers, which CMakeLists.txt has, too (cmake/version.cmake compares them).
#define WEFT_HEADERS_VERSION "0.1.0"
/// A function whose name has the part of the version in which headers and library must agree.
#define WEFT_NEEDED_LIBRARY needs_weft_0_1

namespace weft::detail {

/// One copy of the library in a process. Copies of all versions look at each other's, so its layout
/// never changes, and no more than copy_in_use() does its name.
struct copy_of_weft {
    const char* version;
};

/// \returns  the copy whose functions the caller's program or library is bound to.
WEFT_EXPORT const copy_of_weft& copy_in_use() noexcept;

/// Ends the process with one line and the code 127 unless `of_inline_functions` is the copy in
/// which this function lies. A program with headers of another version does not link, because it
/// asks for another name.
WEFT_EXPORT void WEFT_NEEDED_LIBRARY(const copy_of_weft& of_inline_functions) noexcept;

/// Has the visibility that inline functions of exported classes have in the file that is compiled,
/// so the loader finds it where it finds those.
struct WEFT_EXPORT inline_functions {
    static const copy_of_weft& copy() noexcept { return copy_in_use(); }
};

#if !defined(WEFT_MODEL) && !defined(WEFT_BUILDING)
// The compiler must not look through the pointer: only the loader knows whose function it is.
[[gnu::used]] static const copy_of_weft& (*const volatile inline_functions_here)() noexcept = &inline_functions::copy;

/// Runs when the program starts, or when the library that the file is part of is loaded.
[[gnu::constructor, gnu::used, gnu::no_instrument_function]] static void check_copies_of_weft() noexcept {
    WEFT_NEEDED_LIBRARY(inline_functions_here());
}
#endif

}  // namespace weft::detail

// abi.cpp - this copy of weft, and the end of a process that mixes it with another.
//
// The two checks find different mixtures (docs/design/abi.md): this file's own, that a name which
// this copy exports leads elsewhere; that of abi.hpp, that inline functions of a user do.
#include <weft/detail/abi.hpp>

#include <dlfcn.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstring>

namespace weft::detail {
namespace {

// It has no name outside this file, so no other copy can stand in for it.
constinit const copy_of_weft this_copy{WEFT_HEADERS_VERSION};

/// The path of the program or library in which a copy lies.
const char* file_of(const copy_of_weft& copy) noexcept {
    Dl_info found;
    return ::dladdr(&copy, &found) != 0 && found.dli_fname ? found.dli_fname : "?";
}

/// As the loader ends a program that it cannot start. Nothing of the program has run yet, or a
/// library is being opened, so nothing is unwound.
[[noreturn]] void refuse(const copy_of_weft& other) noexcept {
    char line[1024];
    std::snprintf(line, sizeof line,
                  "weft: fatal: two copies of weft call each other's functions: %s in %.300s and %s in %.300s "
                  "(link the shared library everywhere, or hide the names of static ones: guide, chapter 16)\n",
                  other.version, file_of(other), this_copy.version, file_of(this_copy));
    if (::write(STDERR_FILENO, line, std::strlen(line)) < 0) ::_exit(126);
    ::_exit(127);
}

// No call of an exported function: the loader may have bound that to another copy as well.
void require_this(const copy_of_weft& found) noexcept {
    if (&found != &this_copy) refuse(found);
}

// The loader resolves it as it resolves every other call of this name from this copy.
const copy_of_weft& (*const volatile by_name)() noexcept = &copy_in_use;

[[gnu::constructor, gnu::used]] void check_own_names() noexcept { require_this(by_name()); }

}  // namespace

const copy_of_weft& copy_in_use() noexcept { return this_copy; }

void WEFT_NEEDED_LIBRARY(const copy_of_weft& of_inline_functions) noexcept { require_this(of_inline_functions); }

}  // namespace weft::detail

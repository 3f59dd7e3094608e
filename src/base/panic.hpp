// panic.hpp - stops the program with one line when a contract is broken.
#pragma once

#include <string_view>

#include <weft/detail/export.hpp>

namespace weft::detail {

/// Prints "weft: fatal: <rule> (<detail>) [in <fiber or thread>]" on stderr and aborts. The detail
/// is the state that breaks the rule, where the rule does not say it, or what to do instead. Does
/// not allocate.
WEFT_EXPORT [[noreturn]] void panic(std::string_view rule, std::string_view detail = {}) noexcept;

/// The name of the fiber or thread that runs, as text.
struct runner {
    char text[96];
};
/// Sets the function that supplies that name; the scheduler sets one, since this layer knows no
/// fibers. It must be callable at any time.
void set_panic_namer(runner (*namer)() noexcept) noexcept;

inline void require(bool condition, std::string_view rule) noexcept {
    if (!condition) [[unlikely]]
        panic(rule);
}

}  // namespace weft::detail

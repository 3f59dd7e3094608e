// panic.hpp - how the runtime stops the program when a contract is broken: one line naming what, who and the rule.
#pragma once

#include <string_view>

namespace weft::detail {

/// Prints "weft: fatal: <rule> (<detail>) [in <fiber or thread>]" on stderr and aborts. Does not allocate.
[[noreturn]] void panic(std::string_view rule, std::string_view detail = {}) noexcept;

/// Supplies the name of what runs on this thread; layer 3 registers one. Must be callable at any time.
void set_panic_namer(std::string_view (*namer)() noexcept) noexcept;

inline void require(bool condition, std::string_view rule) noexcept {
    if (!condition) [[unlikely]]
        panic(rule);
}

}  // namespace weft::detail

// panic.hpp - how the runtime stops the program when a contract is broken: one line naming what, who and the rule.
#pragma once

#include <string_view>

namespace weft::detail {

/// Prints "weft: fatal: <rule> (<detail>) [in <fiber or thread>]" on stderr and aborts. The detail is the state that breaks the rule,
/// where the rule does not say it, or what to do instead. Does not allocate.
[[noreturn]] void panic(std::string_view rule, std::string_view detail = {}) noexcept;

/// Who runs on a thread, in words.
struct runner {
    char text[96];
};
/// Supplies it; layer 4 registers one. Must be callable at any time.
void set_panic_namer(runner (*namer)() noexcept) noexcept;

inline void require(bool condition, std::string_view rule) noexcept {
    if (!condition) [[unlikely]]
        panic(rule);
}

}  // namespace weft::detail

// hook.hpp - calls the program's hooks that report something (on_hog, on_error, ...), by one
// contract.
//
// The contract is in docs/guide/14-looking-inside.md. The hooks for failures that no join takes
// (on_unhandled, on_further_failure) are called without this: what they throw ends the program.
#pragma once

#include <weft/detail/export.hpp>

#include <utility>

namespace weft::detail {

class seldom;

/// Call it in a catch block. Prints one line that names the hook and says what it has thrown,
/// except for `cancelled`, which is no failure. If `lines` is given, prints only what that lets
/// pass.
WEFT_EXPORT void report_hook_failure(const char* hook, seldom* lines) noexcept;

/// Calls f(), which calls the hook of that name. What the hook throws is reported, and then
/// ignored. `lines` is for a hook that outsiders can have called in large numbers.
///
/// \parks as the hook does
template <class F>
void call_hook(const char* name, F&& f, seldom* lines = nullptr) noexcept {
    try {
        std::forward<F>(f)();
    } catch (...) {
        report_hook_failure(name, lines);
    }
}

}  // namespace weft::detail

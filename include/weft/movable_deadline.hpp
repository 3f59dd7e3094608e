// movable_deadline.hpp - a deadline that may be moved while it counts: idle timers.
//
// Rules
//   1  Any fiber or thread may move it at any time, to a later or an earlier time. It comes at the
//      time to which it was moved last.
//   2  Several fibers may be under one deadline at once, each by a with_deadline() of its own, as
//      the two directions of a connection that share one idle timer. When the deadline has come,
//      all of them are interrupted. Moving it on afterwards does not undo that.
//   3  It must live as long as any fiber is under it.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include <weft/condition_variable.hpp>
#include <weft/deadline.hpp>
#include <weft/mutex.hpp>
#include <weft/scope.hpp>

namespace weft {

/// A deadline that with_deadline() takes and that may be moved meanwhile.
///
///     weft::movable_deadline idle(1min);
///     weft::with_deadline(idle, [&] {
///         while (auto line = next_line()) { idle.expires_after(1min); handle(*line); }
///     });
///
/// See docs/guide/3-waiting.md.
class WEFT_EXPORT movable_deadline {
public:
    /// The deadline does not come before it is moved.
    movable_deadline() = default;
    /// The deadline comes after `d`, or at `t`, unless it is moved.
    template <class Rep, class Period>
    explicit movable_deadline(const std::chrono::duration<Rep, Period>& d) : at_(detail::deadline_in(d)) {}
    template <class Clock, class Duration>
    explicit movable_deadline(const std::chrono::time_point<Clock, Duration>& t) : at_(detail::deadline_at(t)) {}
    movable_deadline(const movable_deadline&) = delete;
    movable_deadline& operator=(const movable_deadline&) = delete;

    /// Moves the deadline.
    /// \cost one uncontended lock and a look at the clock; only a move to an earlier time wakes the
    ///       fibers under it.
    template <class Rep, class Period>
    void expires_after(const std::chrono::duration<Rep, Period>& d) {
        move(detail::deadline_in(d));
    }
    template <class Clock, class Duration>
    void expires_at(const std::chrono::time_point<Clock, Duration>& t) {
        move(detail::deadline_at(t));
    }
    /// The deadline does not come before it is moved again.
    void expires_never() { move(detail::never); }
    /// \returns where the deadline is now; time_point::max() means never.
    [[nodiscard]] steady_time_point expiry() const;

    /// Waits until the deadline has come. \parks \throws cancelled
    void wait();

private:
    void move(steady_time_point);

    mutable mutex lock_;
    condition_variable earlier_;
    steady_time_point at_ WEFT_GUARDED_BY(lock_) = detail::never;
};

/// Runs f; the waits of f are interrupted once `d` has come, to whatever time it has been moved by
/// then. Nests with the other with_deadline() and with scopes, as with_scope() does. It costs a
/// scope and a fiber that waits for the time: use it for connections, not for each message.
///
/// \returns  what f returns, also if it finishes late without waiting.
/// \throws   timeout_error if f was interrupted because of `d`; what f throws otherwise; what
///           weft::spawn() throws.
/// \parks    as f does, and at the end until the fiber that waits has ended. On a plain thread the
///           program stops: use weft::run there.
template <class F>
auto with_deadline(movable_deadline& d, F&& f) -> std::invoke_result_t<F> {
    using R = std::invoke_result_t<F>;
    static_assert(!std::is_reference_v<R>, "weft::with_deadline: with a movable_deadline f returns a value");
    std::optional<std::conditional_t<std::is_void_v<R>, std::monostate, R>> result;
    bool has_come = false;
    with_scope([&](scope& s) {
        auto watch = s.spawn(attributes{.name = "deadline"}, [&] {
            d.wait();
            has_come = true;  // read after the scope's end
            s.request_stop();
        });
        if constexpr (std::is_void_v<R>) {
            std::invoke(std::forward<F>(f));
            result.emplace();
        } else {
            result.emplace(std::invoke(std::forward<F>(f)));
        }
        watch.request_stop();
    });
    // The stop was the scope's own, which with_scope() has absorbed.
    if (!result && has_come) throw timeout_error("weft: deadline exceeded");
    if (!result) throw cancelled();  // f itself has thrown it
    if constexpr (!std::is_void_v<R>) return std::move(*result);
}

}  // namespace weft

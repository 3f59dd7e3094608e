// ivar.hpp - a variable that is written once; readers that come before that wait.
//
// Rules
//   1  It is set once: by set(), by fail(), or by the function it was made from. The first of them
//      counts.
//   2  The value neither moves nor changes afterwards: a reference to it is good as long as the
//      ivar.
//   3  A reader that has got the value may destroy the ivar, even if the set() that brought the
//      value has not returned.
//   4  A computed ivar that needs its own value, directly or through others, fails with
//      dataflow_cycle instead of waiting for ever.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <exception>
#include <functional>
#include <future>
#include <new>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <type_traits>
#include <utility>

#include <weft/detail/dataflow.hpp>
#include <weft/detail/failure.hpp>
#include <weft/detail/one_time.hpp>
#include <weft/detail/timeouts.hpp>
#include <weft/fiber.hpp>
#include <weft/stop.hpp>

namespace weft {

/// Thrown by set() and fail() if the ivar is set already. See docs/guide/8-dataflow.md.
class WEFT_EXPORT already_set : public std::logic_error {
public:
    already_set();
};

/// A write-once variable: set() or fail() writes it, and get() waits for that.
///
///     weft::ivar<int> width, height;
///     weft::ivar area([&] { return width.get() * height.get(); });  // in a fiber of its own
///     width.set(6), height.set(7);  // area.get() is 42
///
/// See docs/guide/8-dataflow.md.
template <class T>
class ivar {
    static_assert(std::is_object_v<T> && !std::is_const_v<T>, "weft::ivar: holds a value");

public:
    ivar() noexcept : state_(detail::one_time::what::ivar) {}

    /// Has its value computed by f() in a fiber of its own, in the current runtime or in `rt`. If f
    /// throws, get() throws that; if the fiber is stopped, get() throws std::future_error
    /// (broken_promise).
    ///
    /// \parks   at max_fibers, as spawn() does. With at_limit::run_inline it parks as with
    ///          at_limit::park, because f may wait for what the caller does next.
    /// \throws  what spawn() throws. On a plain thread the program stops with a message: name a
    ///          runtime there.
    template <class F>
        requires(std::is_invocable_r_v<T, F&> && !std::same_as<std::remove_cvref_t<F>, ivar>)
    explicit ivar(F&& f) : ivar() {
        compute(detail::runtime_here("weft::ivar"), std::forward<F>(f));
    }
    template <std::same_as<runtime> Runtime, class F>
        requires std::is_invocable_r_v<T, F&>
    ivar(Runtime& rt, F&& f) : ivar() {
        compute(detail::scheduler_of(rt), std::forward<F>(f));
    }

    /// Asks the fiber that computes the value to stop, and joins it.
    ///
    /// \parks   until that fiber has ended; never interrupted.
    ~ivar() {
        fiber_ = {};
        if (state_.is_done() && !failure_) value()->~T();
    }
    ivar(const ivar&) = delete;
    ivar& operator=(const ivar&) = delete;

    /// Writes the value.
    ///
    /// \throws  already_set if the ivar is set, or another call is setting it; what T's move
    ///          throws: the ivar is not set then.
    /// \orders  the call happens before the return of each get() that gets the value.
    void set(T v) {
        begin();
        emplace([&]() -> T&& { return std::move(v); });
    }
    /// Makes get() throw `e` from now on. A null `e` stops the program. \throws already_set
    void fail(std::exception_ptr e) {
        detail::require_failure(e, "ivar::fail");
        begin();
        failure_ = std::move(e);
        state_.finish();
    }

    /// Waits until the ivar is set.
    ///
    /// \parks   until then. A plain thread sleeps instead.
    /// \throws  what it failed with; weft::cancelled; dataflow_cycle, see rule 4.
    /// \cost    once it is set: two loads.
    const T& get() const {
        static_cast<void>(wait_until(detail::never, nullptr));
        return result();
    }
    /// Waits until the ivar is set, up to a limit of time or until `token` is stopped.
    /// \returns whether it is set, or has failed. \parks \throws weft::cancelled, dataflow_cycle
    template <class Rep, class Period>
    bool wait_for(const std::chrono::duration<Rep, Period>& d) const {
        return wait_until(detail::deadline_in(d), nullptr);
    }
    template <class Clock, class Duration>
    bool wait_until(const std::chrono::time_point<Clock, Duration>& t) const {
        return wait_until(detail::deadline_at(t), nullptr);
    }
    bool wait(std::stop_token token) const { return wait_until(detail::never, &token); }
    template <class Rep, class Period>
    bool wait_for(std::stop_token token, const std::chrono::duration<Rep, Period>& d) const {
        return wait_until(detail::deadline_in(d), &token);
    }
    template <class Clock, class Duration>
    bool wait_until(std::stop_token token, const std::chrono::time_point<Clock, Duration>& t) const {
        return wait_until(detail::deadline_at(t), &token);
    }
    /// Waits until the ivar is set, or has failed. \parks \throws weft::cancelled, dataflow_cycle
    void wait() const { static_cast<void>(wait_until(detail::never, nullptr)); }

    /// \returns  a copy of the value, if it is there. \throws what the ivar failed with
    [[nodiscard]] std::optional<T> try_get() const
        requires std::copy_constructible<T>
    {
        if (!ready()) return std::nullopt;
        return result();
    }
    /// \returns whether it is set or has failed, so that get() does not wait.
    [[nodiscard]] bool ready() const noexcept { return state_.is_done(); }

private:
    template <class F>
    void compute(detail::scheduler& where, F&& f) {
        computes_.emplace();
        fiber_ = detail::spawn_in(where, detail::never_inline(where, {.site = {}}), body(std::forward<F>(f)));
    }
    template <class F>
    auto body(F&& f) {
        return [this, f = std::decay_t<F>(std::forward<F>(f))]() mutable {
            if (!state_.begin()) return;  // set from outside meanwhile
            try {
                const detail::computation::running here(*computes_);
                emplace([&]() -> decltype(auto) { return std::invoke(f); });
            } catch (const cancelled&) {
                fail_if_open(std::make_exception_ptr(std::future_error(std::future_errc::broken_promise)));
                throw;
            } catch (...) {
                fail_if_open(std::current_exception());
            }
        };
    }

    void begin() {
        if (!state_.begin()) throw already_set();
    }
    void fail_if_open(std::exception_ptr e) noexcept {
        if (!state_.begin()) return;
        failure_ = std::move(e);
        state_.finish();
    }

    /// Constructs the value; to be called after begin().
    template <class Make>
    void emplace(Make&& make) {
        try {
            ::new (static_cast<void*>(room_)) T(std::forward<Make>(make)());
        } catch (...) {
            state_.give_up();
            throw;
        }
        state_.finish();
    }

    bool wait_until(detail::time_point until, const std::stop_token* token) const {
        if (state_.is_done()) return state_.await_done(until, token);
        const detail::computation::waiting edge(computes_ ? &*computes_ : nullptr, detail::computation::source::ivar);
        return state_.await_done(until, token);
    }
    const T& result() const {
        if (failure_) std::rethrow_exception(failure_);
        return *value();
    }
    const T* value() const noexcept { return std::launder(reinterpret_cast<const T*>(room_)); }

    detail::one_time state_;
    std::exception_ptr failure_;  // written before state_.finish(), like the value
    mutable std::optional<detail::computation> computes_;
    alignas(T) std::byte room_[sizeof(T)];
    fiber<> fiber_;
};

/// Deduces T from the function: weft::ivar area([&] { return width.get() * height.get(); });
template <class F>
    requires std::invocable<F&>
ivar(F) -> ivar<std::remove_cvref_t<std::invoke_result_t<F&>>>;
template <std::same_as<runtime> Runtime, class F>
    requires std::invocable<F&>
ivar(Runtime&, F) -> ivar<std::remove_cvref_t<std::invoke_result_t<F&>>>;

}  // namespace weft

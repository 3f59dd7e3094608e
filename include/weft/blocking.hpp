// blocking.hpp - how a fiber uses code that knows nothing of fibers: calls that block or call back.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

#include <concepts>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <stop_token>
#include <type_traits>
#include <utility>

#include <weft/detail/callback.hpp>
#include <weft/detail/failure.hpp>
#include <weft/detail/task.hpp>
#include <weft/stop.hpp>

namespace weft {

namespace detail {

/// Runs the task on the caller's blocking pool, or in place on a plain thread.
/// \throws  cancelled, std::system_error; not what the task threw.
WEFT_EXPORT void run_blocking(task& call, std::stop_source* stop);
WEFT_EXPORT void run_blocking_detached(std::unique_ptr<task> call);

/// A task that calls f where it lies, without a copy, because the caller waits.
template <class F, class R, bool TakesToken>
class borrowed_task final : public result_task<R> {
public:
    borrowed_task(F& f, std::stop_token stop) : f_(f), stop_(std::move(stop)) {}

private:
    void body() override {
        this->keep([this]() -> decltype(auto) {
            if constexpr (TakesToken)
                return std::invoke(std::forward<F>(f_), std::move(stop_));
            else
                return std::invoke(std::forward<F>(f_));
        });
    }

    std::remove_reference_t<F>& f_;
    std::stop_token stop_;
};

}  // namespace detail

/// Runs f on a thread of the blocking pool, so that a call which blocks its thread stalls no other
/// fiber. On a plain thread f simply runs.
///
///     std::string text = weft::blocking([] { return read_whole_file("weft.conf"); });
///
/// A stop or a passed deadline withdraws a call that has not started. A call that has started is
/// waited for, and then the stop is delivered instead of its result. If f takes a std::stop_token,
/// that token is stopped at once, so that f can end early.
///
/// \returns  what f returns.
/// \parks    until f has returned. The call first waits while all threads of the pool are busy, in
///           order of arrival. (The pool has 64 threads; each time calls have waited for 100 ms it
///           gets one more, up to runtime_options::blocking_threads.)
/// \throws   what f throws; weft::cancelled; std::system_error if the pool has no thread and can
///           start none.
/// \cost     two wake-ups between threads. Worth it for calls that take more than about 50 us.
template <class F>
decltype(auto) blocking(F&& f) {
    if constexpr (std::invocable<F, std::stop_token>) {
        std::stop_source stop;
        detail::borrowed_task<F&&, std::invoke_result_t<F, std::stop_token>, true> call(f, stop.get_token());
        detail::run_blocking(call, &stop);
        return call.take();
    } else {
        detail::borrowed_task<F&&, std::invoke_result_t<F>, false> call(f, {});
        detail::run_blocking(call, nullptr);
        return call.take();
    }
}

/// Runs f on the blocking pool and does not wait for it. On a plain thread f gets a thread of its
/// own. f must own everything it uses, because it may be left behind when the runtime ends. A call
/// that has not started by then never starts.
///
/// \throws  std::system_error if the pool has no thread and can start none. What f throws ends the
///          program, as with std::thread.
template <class F>
void blocking_detached(F&& f) {
    detail::run_blocking_detached(std::make_unique<detail::call_task<F>>(std::forward<F>(f)));
}

/// Continues a fiber in await_callback(). Copyable; any copy may be called, from any thread, before
/// or after the fiber parks. The first call counts. Later calls, and a call after the fiber has
/// given up, are ignored and counted (ignored_resumes()). If the last copy is destroyed without a
/// call, await_callback() throws std::future_error (broken_promise). A null std::exception_ptr
/// stops the program.
///
/// Calls: resume(value), or resume() if T is void; resume(std::exception_ptr). await_callback() has
/// an example. See docs/guide/3-waiting.md.
template <class T>
class resumer {
public:
    explicit resumer(std::shared_ptr<detail::callback_state<T>> state)
        : ticket_(std::make_shared<detail::callback_ticket<T>>(std::move(state))) {}

    void operator()(T value) const noexcept(std::is_nothrow_move_constructible_v<T>) {
        auto& s = *ticket_->state;
        s.resume([&] { s.value.emplace(std::move(value)); });
    }
    void operator()(std::exception_ptr error) const noexcept {
        detail::require_failure(error, "await_callback: resume");
        auto& s = *ticket_->state;
        s.resume([&] { s.error = std::move(error); });
    }

private:
    std::shared_ptr<detail::callback_ticket<T>> ticket_;
};

template <>
class resumer<void> {
public:
    explicit resumer(std::shared_ptr<detail::callback_state<void>> state)
        : ticket_(std::make_shared<detail::callback_ticket<void>>(std::move(state))) {}

    void operator()() const noexcept {
        ticket_->state->resume([] {});
    }
    void operator()(std::exception_ptr error) const noexcept {
        detail::require_failure(error, "await_callback: resume");
        auto& s = *ticket_->state;
        s.resume([&] { s.error = std::move(error); });
    }

private:
    std::shared_ptr<detail::callback_ticket<void>> ticket_;
};

/// \returns how many calls of resumers came second or too late, in this process so far.
WEFT_EXPORT [[nodiscard]] std::uint64_t ignored_resumes() noexcept;

/// Turns a function that calls back into one that returns: `start(resume)` begins the work, and the
/// fiber goes on with what resume(value) or resume(std::exception_ptr) brings.
///
///     auto value = weft::await_callback<std::string>([](auto resume) { look_up("key", resume); });
///
/// If the fiber is stopped, or a deadline passes, before there is a result, `on_cancel()` runs on
/// this fiber, under a shield, and then the fiber unwinds. The work may still call back later.
///
/// \returns  the value.
/// \parks    until called back. Plain threads sleep instead.
/// \throws   the exception given to resume; what start and on_cancel throw; weft::cancelled, also
///           before start; std::future_error, see resumer.
/// \cost     two allocations.
template <class T, class Start, class Cancel>
T await_callback(Start&& start, Cancel&& on_cancel) {
    static_assert(!std::is_reference_v<T>, "weft::await_callback: wait for a value or a pointer, not for a reference");
    detail::enter_callback_wait();
    const auto state = std::make_shared<detail::callback_state<T>>();
    try {
        std::invoke(std::forward<Start>(start), resumer<T>(state));
    } catch (...) {
        state->abandon();
        throw;
    }
    if (!state->wait()) {
        {
            const shield until_cancelled;
            std::invoke(std::forward<Cancel>(on_cancel));
        }
        detail::enter_callback_wait();
        throw cancelled();
    }
    return state->take();
}

template <class T, class Start>
T await_callback(Start&& start) {
    return await_callback<T>(std::forward<Start>(start), [] {});
}

}  // namespace weft

// blocking.hpp - how a fiber deals with code that knows nothing of fibers: calls that block, and calls that call back.
#pragma once

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

/// Runs the task on the caller's blocking pool, or here on a plain thread.
/// \throws  cancelled, std::system_error; not what the task threw.
void run_blocking(task& call, std::stop_source* stop);
void run_blocking_detached(std::unique_ptr<task> call);

/// f, called where it lies: the caller waits.
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

/// Runs f on a thread of the blocking pool, so that a call which blocks its thread stalls no other fiber. On a plain thread f
/// simply runs.
///
/// A stop or a passed deadline withdraws a call that has not started; one that has started is waited for, and then the stop
/// is delivered instead of its result. If f takes a std::stop_token it learns of it at once, and can end early.
///
/// \returns  what f returns; what f throws comes out as well.
/// \parks    until f has returned; at first while all threads of the pool are busy, in order of arrival. (64 threads; where calls have
///           waited for 100 ms, one more each, up to runtime_options::blocking_threads.)
/// \throws   weft::cancelled; std::system_error if the pool has no thread and can start none.
/// \cost     two wake-ups between threads. For calls that take more than some 50 us.
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

/// Runs f on the blocking pool and waits for nothing. On a plain thread it gets a thread of its own. f may be left behind
/// when the runtime ends: it owns everything it uses. A call not started by then never starts.
///
/// \throws  std::system_error as blocking(). What f throws ends the program, as with std::thread.
template <class F>
void blocking_detached(F&& f) {
    detail::run_blocking_detached(std::make_unique<detail::call_task<F>>(std::forward<F>(f)));
}

/// Continues a fiber in await_callback(). Copyable; any copy may be called, from any thread, before or after the fiber parks.
/// The first call counts; later ones, and one after the fiber has given up, are ignored and counted. If the last copy goes
/// without a call, await_callback() throws std::future_error (broken_promise). A null std::exception_ptr stops the program.
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

/// How many calls of resumers came second or too late, in this process so far.
std::uint64_t ignored_resumes() noexcept;

/// Turns a function that calls back into one that returns: `start(resume)` begins the work, and the fiber goes on with what
/// resume(value) or resume(std::exception_ptr) brings.
///
/// If the fiber is stopped, or a deadline passes, before a result is there, `on_cancel()` runs on this fiber, shielded, and
/// the fiber unwinds; the work may call back later all the same.
///
/// \returns  the value; the exception is thrown here.
/// \parks    until called back. Plain threads sleep instead.
/// \throws   what start and on_cancel throw; weft::cancelled, also before start; std::future_error, see resumer.
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

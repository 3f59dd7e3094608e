// barrier.hpp - a number of parties that wait for one another, phase after phase.
//
// Rules
//   1  A phase ends when as many parties have arrived as are expected. The last one runs the
//      completion function, with no lock held; then all waits for this phase end and the next phase
//      begins.
//   2  If more parties arrive in a phase than are expected, the program stops.
//   3  A party whose wait was interrupted, or ended in time, has arrived: the others do not wait
//      for it in this phase, but they will in the next. A party that leaves for good calls
//      arrive_and_drop().
//   4  The party that ends a phase does not touch the barrier afterwards: a waiter may destroy it.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stop_token>
#include <type_traits>
#include <utility>

#include <weft/detail/opaque.hpp>
#include <weft/detail/timeouts.hpp>

namespace weft {

namespace detail {

struct waiting_room;

class WEFT_EXPORT barrier_core {
public:
    explicit constexpr barrier_core(std::ptrdiff_t expected) noexcept : expected_(expected), missing_(expected) {
        if (expected < 0) begins_below_zero();
    }
    ~barrier_core();
    barrier_core(const barrier_core&) = delete;
    barrier_core& operator=(const barrier_core&) = delete;

    struct arrival {
        std::uint64_t phase;
        bool is_last;  // the caller runs the completion function, then end_phase()
    };
    enum class leaves : bool { no, for_good };

    /// To be called before arriving in a form that waits. \throws cancelled
    static void enter();
    arrival arrive(std::ptrdiff_t n, leaves) noexcept;
    void end_phase() noexcept;
    bool wait(std::uint64_t phase, time_point until, const std::stop_token*) const;

private:
    [[noreturn]] static void begins_below_zero() noexcept;
    waiting_room& room() const noexcept;

    mutable opaque<3 * sizeof(void*)> room_;
    // The members below are guarded by the room's lock.
    std::ptrdiff_t expected_;  // in the phases to come
    std::ptrdiff_t missing_;  // in this one; 0 also while its completion function runs
    std::uint64_t phase_ = 0;
};

struct no_completion {
    void operator()() const noexcept {}
};

}  // namespace detail

/// Has the members of std::barrier. The completion function must not throw; it may park.
///
///     weft::barrier step(4, [&]() noexcept { cells.swap(next); });  // run by the last to arrive
///     // in each of four fibers:
///     while (compute(cells, next)) step.arrive_and_wait();
///
/// See docs/guide/7-meeting-points.md.
template <class CompletionFunction = detail::no_completion>
class barrier {
    static_assert(std::is_nothrow_invocable_v<CompletionFunction&>, "weft::barrier: the completion function is noexcept");

public:
    /// Names a phase in which a party has arrived.
    class arrival_token {
    public:
        arrival_token(arrival_token&&) noexcept = default;
        arrival_token& operator=(arrival_token&&) noexcept = default;

    private:
        friend class barrier;
        explicit arrival_token(std::uint64_t phase) noexcept : phase_(phase) {}
        std::uint64_t phase_;
    };

    static constexpr std::ptrdiff_t max() noexcept { return std::numeric_limits<std::ptrdiff_t>::max(); }

    explicit constexpr barrier(std::ptrdiff_t expected, CompletionFunction f = CompletionFunction())
        : core_(expected), completion_(std::move(f)) {}

    /// Arrives n times and does not wait. n > 0.
    [[nodiscard]] arrival_token arrive(std::ptrdiff_t n = 1) {
        return arrival_token(arrive(n, detail::barrier_core::leaves::no));
    }

    /// Waits until the phase of `token` has ended.
    ///
    /// \parks   until then. A plain thread sleeps instead.
    /// \throws  weft::cancelled if this fiber is asked to stop first.
    /// \orders  the completion function, and what came before each arrival, happens before the
    ///          return.
    void wait(arrival_token&& token) const { core_.wait(token.phase_, detail::never, nullptr); }

    /// Waits until the phase of `token` has ended, up to a limit of time or until `stop` is
    /// stopped. The token remains good for another wait.
    ///
    /// \returns  true if the phase has ended.
    /// \parks    until then.
    /// \throws   weft::cancelled if this fiber is asked to stop first.
    template <class Rep, class Period>
    bool wait_for(const arrival_token& token, const std::chrono::duration<Rep, Period>& d) const {
        return core_.wait(token.phase_, detail::deadline_in(d), nullptr);
    }
    template <class Clock, class Duration>
    bool wait_until(const arrival_token& token, const std::chrono::time_point<Clock, Duration>& t) const {
        return core_.wait(token.phase_, detail::deadline_at(t), nullptr);
    }
    bool wait(const arrival_token& token, std::stop_token stop) const { return core_.wait(token.phase_, detail::never, &stop); }
    template <class Rep, class Period>
    bool wait_for(const arrival_token& token, std::stop_token stop, const std::chrono::duration<Rep, Period>& d) const {
        return core_.wait(token.phase_, detail::deadline_in(d), &stop);
    }
    template <class Clock, class Duration>
    bool wait_until(const arrival_token& token, std::stop_token stop, const std::chrono::time_point<Clock, Duration>& t) const {
        return core_.wait(token.phase_, detail::deadline_at(t), &stop);
    }

    /// Arrives and waits. If this fiber is to stop already, it does not arrive.
    ///
    /// \parks   until the phase has ended.
    /// \throws  weft::cancelled; see rule 3.
    void arrive_and_wait() {
        core_.enter();
        wait(arrive());
    }
    /// Arrives as arrive_and_wait() does, and waits up to a limit of time or until `stop` is
    /// stopped. It has arrived also if it did not wait to the end; see rule 3.
    ///
    /// \returns  true if the phase has ended.
    /// \parks    until then.
    /// \throws   weft::cancelled
    template <class Rep, class Period>
    bool arrive_and_wait_for(const std::chrono::duration<Rep, Period>& d) {
        return arrive_and_wait(detail::deadline_in(d), nullptr);
    }
    template <class Clock, class Duration>
    bool arrive_and_wait_until(const std::chrono::time_point<Clock, Duration>& t) {
        return arrive_and_wait(detail::deadline_at(t), nullptr);
    }
    bool arrive_and_wait(std::stop_token stop) { return arrive_and_wait(detail::never, &stop); }
    template <class Rep, class Period>
    bool arrive_and_wait_for(std::stop_token stop, const std::chrono::duration<Rep, Period>& d) {
        return arrive_and_wait(detail::deadline_in(d), &stop);
    }
    template <class Clock, class Duration>
    bool arrive_and_wait_until(std::stop_token stop, const std::chrono::time_point<Clock, Duration>& t) {
        return arrive_and_wait(detail::deadline_at(t), &stop);
    }

    /// Arrives in this phase, and is no longer expected in later ones.
    void arrive_and_drop() { arrive(1, detail::barrier_core::leaves::for_good); }

private:
    bool arrive_and_wait(detail::time_point until, const std::stop_token* stop) {
        core_.enter();
        return core_.wait(arrive(1, detail::barrier_core::leaves::no), until, stop);
    }
    std::uint64_t arrive(std::ptrdiff_t n, detail::barrier_core::leaves how) {
        const auto a = core_.arrive(n, how);
        if (a.is_last) {
            completion_();
            core_.end_phase();
        }
        return a.phase;
    }

    detail::barrier_core core_;
    [[no_unique_address]] CompletionFunction completion_;
};

}  // namespace weft

// semaphore.hpp - a number of permits; a fiber that finds none waits for one.
//
// Rules
//   1  A permit is either taken by one acquire() or lies in the semaphore. release() hands it to
//      the oldest waiter: waiters are served in order of arrival, and no later caller takes a
//      permit from them.
//   2  An acquire that was stopped or timed out has taken no permit.
//   3  More than max() permits stop the program.
//   4  release() does not touch the semaphore after handing the last permit over: its new holder
//      may destroy it.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

#include <chrono>
#include <cstddef>
#include <limits>
#include <stop_token>

#include <weft/detail/opaque.hpp>
#include <weft/detail/timeouts.hpp>

namespace weft {

namespace detail {

struct waiting_room;

class WEFT_EXPORT semaphore_core {
public:
    constexpr semaphore_core(std::ptrdiff_t permits, std::ptrdiff_t most) noexcept : permits_(permits), most_(most) {
        if (permits < 0 || permits > most) begins_out_of_range();
    }
    ~semaphore_core();
    semaphore_core(const semaphore_core&) = delete;
    semaphore_core& operator=(const semaphore_core&) = delete;

    void release(std::ptrdiff_t n) noexcept;
    bool try_acquire() noexcept;
    bool acquire(time_point until, const std::stop_token*);

private:
    [[noreturn]] static void begins_out_of_range() noexcept;
    waiting_room& room() noexcept;

    opaque<3 * sizeof(void*)> room_;
    std::ptrdiff_t permits_;  // under the room's lock
    const std::ptrdiff_t most_;
};

}  // namespace detail

/// Has the members of std::counting_semaphore.
///
///     weft::counting_semaphore<> seats(3);
///     seats.acquire();  // parks while all three are taken
///     seats.release();
///
/// See docs/guide/7-meeting-points.md.
template <std::ptrdiff_t LeastMax = std::numeric_limits<std::ptrdiff_t>::max()>
class counting_semaphore {
    static_assert(LeastMax >= 0, "weft::counting_semaphore: the maximum is not negative");

public:
    static constexpr std::ptrdiff_t max() noexcept { return LeastMax; }

    /// Begins with `desired` permits, 0 to max(); any other number stops the program.
    explicit constexpr counting_semaphore(std::ptrdiff_t desired) noexcept : core_(desired, LeastMax) {}

    /// Adds n permits; waiters get them first. n >= 0.
    void release(std::ptrdiff_t n = 1) noexcept { core_.release(n); }

    /// Takes a permit.
    ///
    /// \parks   while there is none. A plain thread sleeps instead.
    /// \throws  weft::cancelled if this fiber is asked to stop first.
    /// \orders  the release() of the permit happens before the return.
    /// \cost    one uncontended lock, no allocation.
    void acquire() { core_.acquire(detail::never, nullptr); }
    /// Takes a permit, or gives up when `token` is stopped. \returns true if a permit was taken.
    /// \parks \throws weft::cancelled
    [[nodiscard]] bool acquire(std::stop_token token) { return core_.acquire(detail::never, &token); }

    /// \returns  true if there was a permit, which is now the caller's.
    [[nodiscard]] bool try_acquire() noexcept { return core_.try_acquire(); }

    /// Takes a permit if that is possible within `d`.
    ///
    /// \returns  true if it was taken.
    /// \parks    while there is none, at most for `d`.
    /// \throws   weft::cancelled if this fiber is asked to stop first.
    template <class Rep, class Period>
    [[nodiscard]] bool try_acquire_for(const std::chrono::duration<Rep, Period>& d) {
        return core_.acquire(detail::deadline_in(d), nullptr);
    }
    template <class Clock, class Duration>
    [[nodiscard]] bool try_acquire_until(const std::chrono::time_point<Clock, Duration>& t) {
        return core_.acquire(detail::deadline_at(t), nullptr);
    }
    /// These forms also give up when `token` is stopped.
    template <class Rep, class Period>
    [[nodiscard]] bool try_acquire_for(std::stop_token token, const std::chrono::duration<Rep, Period>& d) {
        return core_.acquire(detail::deadline_in(d), &token);
    }
    template <class Clock, class Duration>
    [[nodiscard]] bool try_acquire_until(std::stop_token token, const std::chrono::time_point<Clock, Duration>& t) {
        return core_.acquire(detail::deadline_at(t), &token);
    }

private:
    detail::semaphore_core core_;
};

using binary_semaphore = counting_semaphore<1>;

}  // namespace weft

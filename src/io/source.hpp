// source.hpp - one descriptor with those who wait for it: what joins a stream, its waiters and a driver.
//
//  state    operations  descriptor  leaves by
//  free     0           none        open -> open (source_pool)
//  open     0..n        valid       close -> closing, or closed at once if there is no operation
//  closing  1..n        valid       the last leave -> closed
//  closed   0           none        drop -> free (the owner's handle is gone; it may go before `closed` is reached)
//
// Invariants
//   I1  An operation uses the descriptor only between a successful enter() and its leave(). The descriptor is closed only
//       with closing set and no operation left, so its number is never reused under an operation.
//   I2  Exactly one thread closes the descriptor: the one whose change of life_ made `closing, no operations` true.
//       Exactly one frees the source: the later of those who set `gone` (after closing) and `dropped`.
//   I3  A source never returns to the system's memory. An event that arrives late, for an earlier life of the source,
//       finds a source and causes a retry at most.
//   I4  events(way) is raised, under lock_, before the waiters of that way are taken. An operation reads it before it
//       tries; would-block and an unchanged count, seen under lock_, mean that whatever makes the descriptor ready from
//       now on raises an event after the waiter was linked. (The descriptor is registered edge-triggered, for both ways.)
//   I5  driver_ changes under lock_ only. It is set while the descriptor is registered, or about to be, with that driver;
//       a driver that ends takes itself out of all its sources first and wakes their waiters, who look again.
//   I6  Every event wakes all waiters of its way: how much there is to take is known only to those who try.
//
// A source is registered when a fiber first waits for it, with the driver of that fiber's runtime. A plain thread that waits
// for a registered source is woken by that driver; for an unregistered one it sleeps in poll(2).
#pragma once

#include <cstdint>

#include "base/atomic.hpp"
#include "base/spin_lock.hpp"
#include "fiber/wait_kind.hpp"
#include "fiber/waiter.hpp"

namespace weft::detail {

class epoll_driver;

inline constexpr wait_kind read_wait{.name = "read", .ends = ended_by::outside};
inline constexpr wait_kind write_wait{.name = "write", .ends = ended_by::outside};

/// The two ways to wait for a descriptor.
enum class io_direction : std::uint8_t { read, write };  // in this order: io_readiness.hpp

/// What a driver reports.
struct io_event {
    bool readable, writable;
    bool hangup;  ///< the peer has ended its side, or the descriptor has failed
};

/// again: try once more. interrupted: see interrupt_reason(). timed_out: the caller's own `until` has passed.
enum class [[nodiscard]] readiness : std::uint8_t { again, interrupted, timed_out };

class io_source {
public:
    using event_count = std::uint32_t;

    io_source() noexcept = default;
    io_source(const io_source&) = delete;
    io_source& operator=(const io_source&) = delete;

    // The owner's side.

    /// free -> open, for a descriptor in non-blocking mode.
    void open(int fd) noexcept;
    /// Wakes all waiters. Idempotent, from any thread.
    void close() noexcept;
    /// close(), and the owner forgets the source.
    void drop() noexcept;
    bool closing() const noexcept { return life_.load(relaxed) & closing_bit; }  // a hint; enter() decides
    int descriptor() const noexcept { return fd_; }

    // An operation's side.

    /// False: closed, or being closed.
    [[nodiscard]] bool enter() noexcept;
    void leave() noexcept;

    event_count events(io_direction way) const noexcept {
        return events_[index(way)].load(acquire);  // pairs with on_event(); read before the attempt (I4)
    }

    /// Makes sure a driver will report events, if the caller has one.
    /// \returns  0; or the negated errno with which the driver refused the descriptor.
    long attach() noexcept;

    /// Whether a driver reports its events.
    bool is_watched() noexcept;

    /// Waits for an event after `seen`, or for close().
    /// \parks  unless there was one since.
    readiness wait(io_direction way, event_count seen, const wait_kind& kind, time_point until = never) noexcept;

    /// One registration of a wait for several sources. False: do not wait, try again.
    [[nodiscard]] bool enlist(waiter& w, io_direction way, event_count seen) noexcept;
    void delist(waiter& w, io_direction way) noexcept;

    /// A read emptied the descriptor when `at` was the count of events: until the next one, trying again is useless.
    /// Not after a hang-up, which was perhaps reported before that read.
    void set_drained(event_count at) noexcept { drained_at_.store(at, relaxed); }  // only ever compared with events()
    bool drained(event_count now) const noexcept {
        return drained_at_.load(relaxed) == now && !hangup_.load(relaxed);  // ordered by the acquire in events()
    }

    /// Counts an operation that had nothing to wait for. True: the caller has had its share, and lets others run.
    bool had_its_share() noexcept {
        constexpr std::uint32_t share = 64;  // chosen: about 200 us of system calls
        const auto n = unwaited_.load(relaxed) + 1;  // a rough count: two ways may lose one
        unwaited_.store(n % share, relaxed);
        return n == share;
    }

    // A driver's side.

    /// \returns  how many waiters were woken.
    unsigned on_event(io_event) noexcept;
    /// The driver ends: forgets it and wakes all waiters, if it was this source's.
    void on_driver_gone(const epoll_driver&) noexcept;

    /// In a forked child, whose only thread the caller is: no driver watches it, and nobody waits for it.
    void forget_others() noexcept;

    io_source* next_free = nullptr;  ///< source_pool's

private:
    static constexpr std::uint32_t closing_bit = 1, gone_bit = 2, dropped_bit = 4, operation = 8;

    static std::size_t index(io_direction way) noexcept { return static_cast<std::size_t>(way); }
    static bool idle(std::uint32_t life) noexcept { return life < operation; }
    bool must_look_again(io_direction way, event_count seen) const noexcept;
    readiness wait_without_driver(io_direction way, time_point until) noexcept;
    unsigned wake_all(bool readers, bool writers) noexcept;
    void close_descriptor() noexcept;

    atomic<std::uint32_t> life_{closing_bit | gone_bit};
    int fd_ = -1;  // written while free; read by operations (I1)
    spin_lock lock_;
    atomic<event_count> events_[2] = {};
    atomic<event_count> drained_at_{0};
    atomic<bool> hangup_{false};
    atomic<std::uint32_t> unwaited_{0};
    epoll_driver* driver_ = nullptr;
    wait_list waiters_[2];
};

}  // namespace weft::detail

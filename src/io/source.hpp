// source.hpp - one descriptor: the link between a stream, its waiters and an engine.
//
//  state    operations  descriptor  leaves by
//  free     0           none        open -> open (source_pool)
//  open     0..n        valid       close -> closing, or closed if there is no operation
//  closing  1..n        valid       the last leave -> closed
//  closed   0           none        drop -> free (drop may come before `closed` is reached)
//
// Invariants
//   SOURCE-1  An operation uses the descriptor only between a successful enter() and its leave().
//             The descriptor is closed only with closing set and no operation left, so its number
//             is never reused under an operation.
//   SOURCE-2  Exactly one thread closes the descriptor: the one whose change of life_ made the
//             state `closing, no operations`. Exactly one thread frees the source: the later of the
//             two that set `gone` (after closing) and `dropped`.
//   SOURCE-3  The memory of a source stays a source while any source or engine is in use
//             (source_pool.hpp). So an event that arrives late, for an earlier use of the source,
//             finds a source and causes at most one needless retry.
//   SOURCE-4  events(way) is raised under lock_, before the waiters of that way are taken. An
//             operation reads the count before it tries. If the attempt would block, and the count
//             is unchanged when read under lock_, then whatever makes the descriptor ready from now
//             on raises an event after the waiter was linked. This rests on ENGINE-1: the engine
//             reports each change to ready, for both ways, without being told that a fiber waits.
//   SOURCE-5  engine_ changes only under lock_. It is set while the descriptor is registered, or
//             about to be registered, with that engine. Before an engine ends, it removes itself
//             from all its sources and wakes their waiters, which look again. attach() reads engine_
//             without lock_: if it has seen an engine that is gone since, wait(), enlist() and
//             is_watched() find none under lock_, so their callers try again and attach() anew.
//   SOURCE-6  Every event wakes all waiters of its way, since only an attempt can tell how much
//             there is to take.
//   SOURCE-7  A descriptor is removed from its engine before it is closed, unless close() itself
//             removes it: no other descriptor names its open file, since weft has opened it
//             itself, and no process was forked since before that. If one is forked between this
//             look and close(), or the program has duplicated the descriptor, the engine may
//             report events of a file that weft has closed, to the source or its next user:
//             needless retries, as in SOURCE-3.
//
// A source is registered when a fiber first waits for it, with the engine of that fiber's runtime.
// A plain thread that waits for a registered source is woken by that engine; for an unregistered
// one it sleeps in poll(2).
#pragma once

#include <cstdint>

#include "base/atomic.hpp"
#include "base/spin_lock.hpp"
#include "fiber/wait_kind.hpp"
#include "fiber/waiter.hpp"

namespace weft::detail {

class io_engine;

inline constexpr wait_kind read_wait{.name = "read", .ends = ended_by::outside};
inline constexpr wait_kind write_wait{.name = "write", .ends = ended_by::outside};

/// The two ways to wait for a descriptor.
enum class io_direction : std::uint8_t { read, write };  // io_readiness.hpp relies on this order

/// The events that an engine reports.
struct io_event {
    bool readable, writable;
    bool hangup;  ///< the peer has ended its side, or the descriptor has failed
};

/// again: try once more. interrupted: see interrupt_reason(). timed_out: the caller's own `until`
/// has passed.
enum class [[nodiscard]] readiness : std::uint8_t { again, interrupted, timed_out };

/// For a descriptor that others may have, too: one that was given to weft, or is handed on.
inline constexpr unsigned perhaps_shared = 1;

class io_source {
public:
    using event_count = std::uint32_t;

    io_source() noexcept = default;
    io_source(const io_source&) = delete;
    io_source& operator=(const io_source&) = delete;

    // For the owner.

    /// free -> open, for a descriptor in non-blocking mode.
    void open(int fd, unsigned forks_then) noexcept;
    /// Wakes all waiters. May be called repeatedly and from any thread.
    void close() noexcept;
    /// close(), and the owner gives the source up.
    void drop() noexcept;
    // A hint; enter() decides.
    bool closing() const noexcept { return life_.load(relaxed) & closing_bit; }
    int descriptor() const noexcept { return fd_; }

    // For an operation.

    /// Returns false if the source is closed or closing.
    [[nodiscard]] bool enter() noexcept;
    void leave() noexcept;

    event_count events(io_direction way) const noexcept {
        // Pairs with on_event(); read before the attempt (SOURCE-4).
        return events_[index(way)].load(acquire);
    }

    /// If the caller's runtime has an engine, ensures that it will report events of this source.
    /// \returns  0; or the negated errno with which the engine refused the descriptor.
    long attach() noexcept;

    /// Whether an engine reports its events.
    bool is_watched() noexcept;

    /// Waits for an event after `seen`, or for close().
    /// \parks  unless there was such an event already.
    readiness wait(io_direction way, event_count seen, const wait_kind& kind, time_point until = never) noexcept;

    /// Links one waiter of a wait for several sources. \returns false if the caller must try again
    /// instead of waiting.
    [[nodiscard]] bool enlist(waiter& w, io_direction way, event_count seen) noexcept;
    void delist(waiter& w, io_direction way) noexcept;

    /// Says that a read emptied the descriptor when `at` was the count of events: until the next
    /// event, another attempt is useless. This does not hold after a hang-up, whose event may have
    /// come before that read.
    // relaxed: only ever compared with events()
    void set_drained(event_count at) noexcept { drained_at_.store(at, relaxed); }
    bool drained(event_count now) const noexcept {
        // Ordered by the acquire in events().
        return drained_at_.load(relaxed) == now && !hangup_.load(relaxed);
    }

    /// Counts an operation that did not have to wait, or one that took as long as `weight` system calls.
    /// \returns true if the caller has had its share and must let others run.
    bool had_its_share(std::uint32_t weight = 1) noexcept {
        constexpr std::uint32_t share = 64;  // chosen: about 200 us of system calls
        // A rough count: the two ways may lose an increment.
        const auto n = unwaited_.load(relaxed) + weight;
        const bool all = n >= share;
        unwaited_.store(all ? 0 : n, relaxed);
        return all;
    }

    /// Whether one operation has succeeded since one had to wait, or since the last share. A rough count.
    bool has_one_since_wait() const noexcept { return unwaited_.load(relaxed) == 1; }

    // For an engine.

    /// \returns  how many waiters were woken.
    unsigned on_event(io_event) noexcept;
    /// The engine ends. If this source was registered with it, forgets it and wakes all waiters.
    void on_engine_gone(const io_engine&) noexcept;

    /// Called in a forked child, on its only thread: no engine watches the source, and there are no
    /// waiters.
    void forget_others() noexcept;

    io_source* next_free = nullptr;  ///< used by source_pool

private:
    static constexpr std::uint32_t closing_bit = 1, gone_bit = 2, dropped_bit = 4, operation = 8;

    static std::size_t index(io_direction way) noexcept { return static_cast<std::size_t>(way); }
    static bool idle(std::uint32_t life) noexcept { return life < operation; }
    bool must_look_again(io_direction way, event_count seen) const noexcept WEFT_REQUIRES(lock_);
    readiness wait_without_engine(io_direction way, time_point until) noexcept;
    unsigned wake_all(bool readers, bool writers) noexcept;
    void close_descriptor() noexcept;

    atomic<std::uint32_t> life_{closing_bit | gone_bit};
    int fd_ = -1;  // written while free; read by operations (SOURCE-1)
    spin_lock lock_;
    atomic<bool> hangup_{false};
    atomic<event_count> events_[2] = {};
    atomic<event_count> drained_at_{0};
    atomic<std::uint32_t> unwaited_{0};
    unsigned forks_then_ = 0;  // written as fd_ is: fork_count() before fd_ was opened, or an odd number
    atomic<io_engine*> engine_{nullptr};  // written under lock_; without it a hint (SOURCE-5)
    wait_list waiters_[2] WEFT_GUARDED_BY(lock_);
};

}  // namespace weft::detail

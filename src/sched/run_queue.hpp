// run_queue.hpp - the fibers that a worker has yet to run: a next slot and a deque.
//
// Both are private to their owner, the carrier that has the worker, on its visits; it pays no
// atomic read-modify-write. A thief that wants fibers asks, and the owner hands over half of them
// at its next visit, in a buffer called the batch. An owner that is busy with other things for long
// is overruled: the thief proves with a heavy fence that the owner is not inside, and takes half
// itself. The words for that are the carrier's tenure (tenure.hpp).
//
// Invariants
//   RUN_QUEUE-1  Slot and deque belong to the party that the tenure names (TENURE-1): the owner on
//                its visits, or the thief that has borrowed.
//   RUN_QUEUE-2  An answer, a withdrawal and an overruling exclude one another (TENURE-2).
//   RUN_QUEUE-3  From ask() to withdraw(), collect() or overrule() the thief is the only one
//                (TENURE-3). It must end its call itself, by whichever of the three succeeds.
//   RUN_QUEUE-4  An item is in the slot, in the deque or in the batch of one queue, or in none.
//   RUN_QUEUE-5  The batch is the owner's while the call is `answering`, the thief's while it is
//                `answered`.
//
// Order. A woken item goes into the slot, and the item that was there goes to the back of the
// deque. pop() takes the slot first. From the deque it takes the newest item if that has not been
// started (depth first keeps stacks few and warm: docs/measurements/run-order.md), else the oldest.
// But the oldest waits for at most 64 others if it has been started and has not given way to a
// child, else for at most 1024; take_back() and take_last() give way to it as well. So an item with
// n others before it in the deque is taken by the 1025 (n + 1)th pop(), and by the 65 (n + 1)th if
// all of these have been started and have not given way.
//
// An item that gives way to a new one (attributes::run_now) goes into the slot. When the new one
// has ended take_last() takes the item even from the back of the deque, where it lies if the new
// one gave way in turn. So the items of a chain of such spawners go on as frames of a stack do,
// the last first, while thieves take the first of them: the order of work stealing in Cilk
// ([BL99], [FLR98]).
//
// Not promised: size() seen by another thread is a hint.
// Model test: tests/model/run_queue_model.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "base/atomic.hpp"
#include "sched/tenure.hpp"

namespace weft::detail {

/// T has `bool started() const`, which says whether the item has begun to run, and perhaps `bool
/// may_wait_long() const`, which says that 1024 others may go before it; else unstarted ones may.
/// It may have `void prefetch_block() const` and `void prefetch_stack() const` for fetch_ahead():
/// they fetch the item itself, and two items later what it points to.
template <class T, std::uint32_t least_capacity = 256, std::uint32_t most = 64>
class run_queue {
    static_assert((least_capacity & (least_capacity - 1)) == 0, "positions are computed modulo 2^32");

public:
    /// The most items a thief gets at once, and the size of the batch.
    // chosen: at 20 ns each to take over, about a microsecond
    static constexpr std::uint32_t most_stolen = most;

    run_queue() = default;
    run_queue(const run_queue&) = delete;
    run_queue& operator=(const run_queue&) = delete;

    /// A hint for other threads. After a heavy fence it counts at least the items that were pushed
    /// before, and neither taken nor moved to the back by push_next() since.
    std::uint32_t size() const noexcept {
        // Relaxed, since the stores of the slot are. An item that leaves it for the back while this
        // function reads may be missed; notify() follows each push_next() (WORKER-2), so a worker
        // that is about to sleep, and missed it, is woken, or IDLE_SET-8 holds.
        const std::uint32_t in_slot = next_.load(relaxed) ? 1 : 0;
        // The head is read first: while one item takes the place of another in rotate_started(),
        // both may be counted, but never none. Pairs with rotate_started().
        const auto head = head_.load(acquire);
        return tail_.load(relaxed) - head + in_slot;
    }
    bool empty() const noexcept { return size() == 0; }

    // To be called by the owner, on a visit (RUN_QUEUE-1):

    /// Puts an item at the back. False: no memory; the caller keeps the item.
    bool push(T& item) noexcept { return push_if_room(item) || (grow() && push_if_room(item)); }
    /// As push(), but allocates nothing. False: no room.
    [[gnu::always_inline]] bool push_if_room(T& item) noexcept {
        const auto tail = tail_.load(relaxed);
        if (is_full()) [[unlikely]]
            return false;
        at(tail).set(&item);
        tail_.store(tail + 1, relaxed);
        return true;
    }

    /// Puts an item into the slot; the item that was there goes to the back. \returns null, or that
    /// item if there is no memory to queue it.
    T* push_next(T& item) noexcept {
        T* const displaced = next_.load(relaxed);
        next_.store(&item, relaxed);
        return displaced && !push(*displaced) ? displaced : nullptr;
    }

    /// Takes the next item to run; null if there is none.
    [[gnu::always_inline]] T* pop() noexcept {
        const auto n = since_oldest_.get();
        since_oldest_.set(n + 1);
        const auto tail = tail_.load(relaxed);
        const bool any = tail != head_.load(relaxed);
        const bool due = any && oldest_is_due(n);
        if (T* const next = next_.load(relaxed); next && !due) [[likely]] {
            next_.store(nullptr, relaxed);
            return next;
        }
        if (!any) return nullptr;
        T* const newest = at(tail - 1).get();
        if (!due && !newest->started()) {
            tail_.store(tail - 1, relaxed);
            return newest;
        }
        since_oldest_.set(0);
        if constexpr (requires { newest->prefetch_stack(); })
            if (fetches_.get() != 0) [[unlikely]]
                fetch_next();
        return take_oldest();
    }

    /// Takes `item` out if it is at the back and unstarted, and it is not the oldest item's turn.
    /// `item` need not be in this queue, and may have been taken.
    [[gnu::always_inline]] bool take_back(const T& item) noexcept {
        const auto tail = tail_.load(relaxed);
        if (tail == head_.load(relaxed) || at(tail - 1).get() != &item || item.started()) [[unlikely]]
            return false;
        const auto n = since_oldest_.get();
        if (oldest_is_due(n) && in_deque() > 1) return false;
        since_oldest_.set(n + 1);
        tail_.store(tail - 1, relaxed);
        return true;
    }

    /// Takes `item` out if it is at the back and has been started, the slot is empty, and it is not
    /// the oldest item's turn. `item` need not be in this queue, and may be an item of another life
    /// by now.
    bool take_last(const T& item) noexcept {
        const auto tail = tail_.load(relaxed);
        const auto n = since_oldest_.get();
        if (next_.load(relaxed) || tail == head_.load(relaxed) || at(tail - 1).get() != &item || !item.started()) return false;
        if (oldest_is_due(n) && in_deque() > 1) return false;
        since_oldest_.set(n + 1);
        tail_.store(tail - 1, relaxed);
        return true;
    }

    /// Puts `self` at the back and takes the next item. \returns null, with nothing changed, if
    /// there is no other item or no memory.
    T* rotate(T& self) noexcept {
        T* const oldest = rotate_started(self);
        return oldest ? oldest : rotate_otherwise(self);
    }
    /// rotate() in its common case: the slot is empty and the newest item has been started.
    /// \returns null, with nothing changed, in any other case.
    [[gnu::always_inline]] T* rotate_started(T& self) noexcept {
        const auto head = head_.load(relaxed), tail = tail_.load(relaxed);
        if (!next_.load(relaxed) && head != tail && at(tail - 1).get()->started()) [[likely]] {
            T* const oldest = at(head).get();  // if the deque is full, `self` takes its place
            at(tail).set(&self);
            tail_.store(tail + 1, relaxed);
            head_.store(head + 1, release);  // pairs with size()
            since_oldest_.set(0);
            return oldest;
        }
        return nullptr;
    }

    /// As many calls of pop() as there are items in the deque now fetch items into the caches: those
    /// two and four places behind the one that they take. That pays for many, if they have deep
    /// stacks; docs/measurements/run-order.md.
    void fetch_ahead() noexcept { fetches_.set(in_deque()); }

    /// Frees the memory of a burst that is over.
    void trim() noexcept {
        if (capacity() <= 16 * least_capacity || !empty()) return;
        slots_.reset();
        mask_.set(no_slots);
        head_.store(0, relaxed);
        tail_.store(0, relaxed);
    }

    /// Fills the batch for a thief (RUN_QUEUE-5) with half of `from`, after allowing for the
    /// `for_owner` items (one or none) that the owner is about to take itself. \returns how many.
    std::uint32_t fill_batch(run_queue& from, std::uint32_t for_owner = 1) noexcept {
        const auto n = std::min((from.in_deque() + 1 - for_owner) / 2, most_stolen);
        from.take_oldest(n, [&](std::uint32_t i, T* item) { batch_[i].set(item); });
        batch_size_.set(n);
        return n;
    }

    /// Called by a thief that has borrowed: takes half of the deque, or the item in the slot if
    /// there is no other. \returns how many.
    std::uint32_t take_half(T** out) noexcept {
        const auto n = std::min((in_deque() + 1) / 2, most_stolen);
        take_oldest(n, [&](std::uint32_t i, T* item) { out[i] = item; });
        T* const next = next_.load(relaxed);
        if (n != 0 || !next) return n;
        next_.store(nullptr, relaxed);  // RUN_QUEUE-1: the owner stays out of the queue meanwhile
        out[0] = next;
        return 1;
    }

private:
    template <class Worker>
    friend class queue_thief;

    // How many items may go before the oldest of the deque. An old unstarted fiber often is the
    // root of a tree of new ones: the sooner it starts, the more stacks are in use at once
    // (docs/measurements/run-order.md). The same is true of a fiber that gave way to a child.
    static constexpr std::uint32_t short_wait = 64, long_wait = 1024;  // chosen

    static bool may_wait_long(const T& item) noexcept {
        if constexpr (requires { item.may_wait_long(); })
            return item.may_wait_long();
        else
            return !item.started();
    }

    // For the party that the queue belongs to (RUN_QUEUE-1). The positions are atomic only for
    // size().
    std::uint32_t in_deque() const noexcept { return tail_.load(relaxed) - head_.load(relaxed); }
    plain<T*>& at(std::uint32_t position) const noexcept { return slots_[position & mask_.get()]; }
    [[gnu::always_inline]] T* take_oldest() noexcept {
        const auto head = head_.load(relaxed);
        T* const item = at(head).get();
        head_.store(head + 1, relaxed);
        return item;
    }
    [[gnu::noinline]] void fetch_next() noexcept {
        constexpr std::uint32_t to_stack = 2, to_block = 4;  // places behind the item that is taken; chosen
        fetches_.set(fetches_.get() - 1);
        const auto head = head_.load(relaxed), n = in_deque();
        if (n > to_block) at(head + to_block).get()->prefetch_block();
        if (n > to_stack) at(head + to_stack).get()->prefetch_stack();
    }
    template <class Put>
    void take_oldest(std::uint32_t n, Put put) noexcept {
        for (std::uint32_t i = 0; i < n; ++i) put(i, take_oldest());
    }

    std::uint32_t empty_batch(T** out) noexcept {  // RUN_QUEUE-5
        const auto n = batch_size_.get();
        for (std::uint32_t i = 0; i < n; ++i) out[i] = batch_[i].get();
        return n;
    }

    // Whether the oldest item of the deque, which is not empty, must go next after n others. Reads
    // the item itself only seldom, since it may not be in the cache.
    [[gnu::always_inline]] bool oldest_is_due(std::uint32_t n) const noexcept {
        if (n < short_wait) [[likely]]
            return false;
        return n >= long_wait || (n % short_wait == 0 && !may_wait_long(*at(head_.load(relaxed)).get()));
    }

    std::uint32_t capacity() const noexcept { return mask_.get() + 1; }
    bool is_full() const noexcept { return in_deque() == capacity(); }

    [[gnu::noinline]] T* rotate_otherwise(T& self) noexcept {
        if (empty() || (is_full() && !grow())) return nullptr;
        T* const next = pop();
        push(self);
        return next;
    }

    [[gnu::noinline, gnu::cold]] bool grow() noexcept {
        const auto n = in_deque();
        const auto wanted = std::max(2 * capacity(), least_capacity);
        std::unique_ptr<plain<T*>[]> wider(new (std::nothrow) plain<T*>[wanted]);
        if (!wider) return false;
        const auto head = head_.load(relaxed);
        for (std::uint32_t i = 0; i < n; ++i) wider[(head + i) & (wanted - 1)].set(at(head + i).get());
        slots_ = std::move(wider);
        mask_.set(wanted - 1);
        return true;
    }

    // One cache line holds what the owner's fast path uses and what other threads read of it.
    alignas(64) atomic<std::uint32_t> head_{0}, tail_{0};
    atomic<T*> next_{nullptr};
    static constexpr auto no_slots = ~std::uint32_t{0};
    plain<std::uint32_t> mask_{no_slots};  // one less than the capacity
    plain<std::uint32_t> since_oldest_{0};  // items taken since the last turn of the oldest
    plain<std::uint32_t> fetches_{0};  // how many calls of pop() still fetch
    std::unique_ptr<plain<T*>[]> slots_;

    alignas(64) plain<std::uint32_t> batch_size_{0};  // RUN_QUEUE-5
    plain<T*> batch_[most_stolen];
};

/// A worker that wants fibers of another. Worker has `run_queue<...>& queue()`, which holds the
/// batch, and `take_half(T**)`.
template <class Worker>
class queue_thief {
    using caller = typename tenure<Worker>::thief;

public:
    explicit queue_thief(tenure<Worker>& of_victim) noexcept : call_(of_victim) {}

    /// Asks for half. False: another call stands already, or there is no worker to be asked.
    bool ask() noexcept {
        auto* const called = call_.ask();
        if (called) asked_ = called;
        return called != nullptr;
    }

    /// Whether the owner has answered; then call collect().
    bool answered() const noexcept { return call_.answered(); }

    /// Takes the answer, after answered(). \returns how many items, perhaps none.
    template <class T>
    std::uint32_t collect(T** out) noexcept {
        const auto n = asked_->queue().empty_batch(out);
        call_.collected();
        return n;
    }

    /// Takes the call back. False: the owner is answering; collect() must follow.
    bool withdraw() noexcept { return call_.withdraw(); }

    enum class outcome { taken, busy, answering };
    /// Takes half from an owner that does not enter, and ends the call. `busy`: the owner is inside
    /// now; the call stands. `answering`: it answers; the call stands.
    template <class T>
    outcome overrule(T** out, std::uint32_t& n) noexcept {
        switch (call_.overrule()) {
            case caller::outcome::busy: return outcome::busy;
            case caller::outcome::answering: return outcome::answering;
            case caller::outcome::borrowed: break;
        }
        n = asked_->take_half(out);
        call_.give_back();
        return outcome::taken;
    }

private:
    caller call_;
    Worker* asked_ = nullptr;  // the worker that was called, while the call stands (TENURE-4)
};

}  // namespace weft::detail

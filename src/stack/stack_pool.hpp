// stack_pool.hpp - where stacks come from and go to: any size, any thread, one lock.
//
// Sizes are rounded up to a power of two between 16 KiB (or what a signal needs) and 64 MiB. Larger
// stacks are mapped one by one. A stack that is given back stays warm, with its pages. trim() closes
// warm stacks that were not needed for a while (low_water.hpp), and gives slabs without a stack
// back; workers call it. The pool of coroutines has no worker that trims it, but a limit,
// `warm_bytes`: what a size class has beyond it is closed, sixty-four at a time. A closed stack
// costs only address space and page tables.
//
// Invariants
//   STACK_POOL-1  A stack is in use, warm, surplus, or about to be closed, or its slot is not
//                 claimed. The counts of statistics() agree with that under the lock.
//   STACK_POOL-2  Pages are touched, guarded and given back outside the lock.
//   STACK_POOL-3  A slab that is to be unmapped was unused when it was unlinked from all lists,
//                 under the lock. So no thread can claim a slot of it.
//   STACK_POOL-4  The warm stack given last is taken first. So those that were warm when a period
//                 began, and were not needed since, are the ones in the list `rested`. So nothing
//                 counts them, and nothing walks past the other stacks to reach them.
//
// Workers go through a `stack_cache`.
#pragma once

#include <weft/detail/annotated_locks.hpp>

#include <array>
#include <cstddef>

#include "base/atomic.hpp"
#include "base/futex_lock.hpp"
#include "base/low_water.hpp"
#include "stack/slab.hpp"

namespace weft::detail {

struct stack_options {
    std::size_t default_bytes = std::size_t{256} << 10;
    // Of idle stacks of one size class, for a pool that nobody trims, such as that of coroutines.
    // chosen: 16,384 stacks of the default size
    std::size_t warm_bytes = std::size_t{4} << 30;
    guard_rules guards = {};
};

struct stack_statistics {
    std::size_t in_use = 0;
    std::size_t idle = 0;  // given back, but still with pages
    std::size_t mapped_slots = 0;
    std::size_t mapped_bytes = 0;  // of address space
    std::size_t guarded = 0;  // of the stacks in use or idle
    // their overflow is noticed only when they are given back
    std::size_t unguarded = 0;
    guard_kind guards = guard_kind::none;  // the kind that new stacks get first
};

class stack_pool {
public:
    explicit stack_pool(stack_options options = {}) noexcept;
    ~stack_pool();  // every stack has been given back before
    stack_pool(stack_pool const&) = delete;
    stack_pool& operator=(stack_pool const&) = delete;

    /// Takes a stack of at least `bytes`, less description and colour (1,024 bytes at most). 0: the
    /// default size. \returns null if memory is refused.
    [[nodiscard]] stack* take(std::size_t bytes) noexcept;
    void give(stack* s) noexcept;

    /// Takes stacks of the default size: as many warm ones as there are, up to n, or else one new
    /// stack. \returns how many; 0 if memory is refused.
    [[nodiscard]] std::size_t take_batch(stack** out, std::size_t n) noexcept;
    void give_batch(stack** in, std::size_t n) noexcept;

    /// Whether trim() has anything to do: a hint.
    [[nodiscard]] bool has_surplus() const noexcept { return has_surplus_.load(relaxed); }
    /// Gives memory back that was not needed during the last low_water::period, at most `n` stacks
    /// or slabs.
    /// \returns when it has more to do: a time not after `now` if at once, `never` if there is
    /// nothing left.
    time_point trim(time_point now, std::size_t n) noexcept;

    /// Gives back at once all that is not in use. trim() must not run meanwhile.
    void close_idle() noexcept;

    [[nodiscard]] stack_statistics statistics() const noexcept;
    [[nodiscard]] std::size_t default_bytes() const noexcept;

    /// The pool's lock, under which other locks are taken. For a pool that belongs to the process,
    /// to hold it across forks.
    void lock() noexcept WEFT_ACQUIRE(mutex_) { mutex_.lock(); }
    void unlock() noexcept WEFT_RELEASE(mutex_) { mutex_.unlock(); }

private:
    static constexpr std::size_t smallest_class = 14;  // 2^14: 16 KiB
    static constexpr std::size_t largest_class = 26;  // 2^26: 64 MiB

    struct size_class {
        // STACK_POOL-4: given since the period began, and before; taken in this order
        stack *warm = nullptr, *rested = nullptr;
        stack* last_warm = nullptr;  // the end of `warm`, unless that is empty
        std::size_t warm_count = 0;  // of both
        stack* surplus = nullptr;
        std::size_t surplus_count = 0;
        // chosen by trim(); counted neither as in use nor as idle
        stack* to_close = nullptr;
        slab* room = nullptr;
        std::size_t unused_slabs = 0;
        low_water unneeded_warm, unneeded_slabs;
    };
    // chosen: trim() leaves so many of each size
    static constexpr std::size_t spare_stacks = 16, spare_slabs = 1;

    size_class& class_of(std::size_t stack_bytes) noexcept WEFT_REQUIRES(mutex_);
    std::size_t rounded(std::size_t bytes) const noexcept;
    slab* slab_with_room(size_class& c, std::size_t stack_bytes) noexcept WEFT_REQUIRES(mutex_);
    void list_as_room(size_class& c, slab& s) noexcept WEFT_REQUIRES(mutex_);
    stack* take_warm(size_class& c) noexcept WEFT_REQUIRES(mutex_);
    stack* take_new(std::size_t stack_bytes) noexcept WEFT_EXCLUDES(mutex_);
    stack* take_alone(std::size_t stack_bytes) noexcept WEFT_EXCLUDES(mutex_);
    void give_alone(stack* s) noexcept WEFT_EXCLUDES(mutex_);
    stack* put(stack* s) noexcept WEFT_REQUIRES(mutex_);
    void close_all(stack* list) noexcept WEFT_EXCLUDES(mutex_);
    stack* close_some(stack* list) noexcept WEFT_EXCLUDES(mutex_);
    time_point look_at_periods(time_point now) noexcept WEFT_EXCLUDES(mutex_);
    void let_rest(size_class& c) noexcept WEFT_REQUIRES(mutex_);
    void choose_to_close(size_class& c, std::size_t rested, std::size_t spare) noexcept WEFT_REQUIRES(mutex_);
    void unlink_unused(size_class& c, std::size_t n) noexcept WEFT_REQUIRES(mutex_);
    std::size_t close_chosen(std::size_t n) noexcept WEFT_EXCLUDES(mutex_);
    void close_all_chosen() noexcept WEFT_EXCLUDES(mutex_);
    bool unmap_one() noexcept WEFT_EXCLUDES(mutex_);
    bool is_giving_back() const noexcept WEFT_REQUIRES(mutex_);
    void note_surplus() noexcept WEFT_REQUIRES(mutex_);

    stack_options options_;
    mutable futex_lock mutex_;
    std::array<size_class, largest_class - smallest_class + 1> classes_ WEFT_GUARDED_BY(mutex_){};
    slab* slabs_ WEFT_GUARDED_BY(mutex_) = nullptr;
    // unlinked slabs that wait to be unmapped (STACK_POOL-3)
    slab* leaving_ WEFT_GUARDED_BY(mutex_) = nullptr;
    atomic<bool> has_surplus_{false};
    stack_statistics counts_ WEFT_GUARDED_BY(mutex_);
};

}  // namespace weft::detail

// injector.hpp - a shared run queue, for fibers that cannot go into a worker's own queue.
//
// Plain threads and carriers without a worker push what they make runnable, and a worker pushes
// fibers that it has no memory to queue. A pushing thread may lose its core at any time and must
// not stop others by that, so pushing takes no lock. Only carriers pop, and there are few of those.
// The demoted fibers (demotion.hpp) and the pinned ones (pinned.hpp) wait in such queues, too.
//
// Invariants
//   INJECTOR-1  Items leave in the order in which they came to pushed_. pushed_ is a stack with the
//               newest item first, which is reversed when it is taken.
//   INJECTOR-2  count_ is raised before a push and lowered after a pop. So a thread that knows of a
//               push sees a count above zero until that item is popped. But a pop may find nothing
//               although count_ is not zero: the item is about to come.
//   INJECTOR-3  A popper takes the whole of pushed_ by one exchange, so no thread compares a
//               pointer that has come back (no ABA).
//   INJECTOR-4  ready_ belongs to the holder of lock_.
//
// Model test: tests/model/injector_model.cpp.
#pragma once

#include <weft/detail/annotated_locks.hpp>

#include <cstddef>

#include "base/atomic.hpp"
#include "base/spin_lock.hpp"

namespace weft::detail {

/// T has a member `T* link`, which belongs to the injector while the item is in it.
template <class T>
class injector {
public:
    injector() = default;
    injector(const injector&) = delete;
    injector& operator=(const injector&) = delete;

    // INJECTOR-2; ordered by the fences of idle_set
    bool empty() const noexcept { return size() == 0; }
    std::size_t size() const noexcept { return count_.load(relaxed); }  // a hint
    /// Whether items were pushed that no popper has taken into ready_ yet.
    // pairs with the fence behind a push in few_at_once (FEW_AT_ONCE-2)
    bool has_arrived() const noexcept { return pushed_.load(seq_cst) != nullptr; }

    void push(T& item) noexcept {
        // INJECTOR-2; ordered before the pop's subtraction by the release of the push
        count_.fetch_add(1, relaxed);
        T* newest = pushed_.load(relaxed);
        do {
            item.link = newest;
        // Pairs with pop().
        } while (!pushed_.compare_exchange_weak(newest, &item, release, relaxed));
    }

    T* pop() noexcept {
        if (empty()) return nullptr;
        const lock_guard guard(lock_);
        // Pairs with push(); INJECTOR-3.
        if (!ready_) ready_ = turned_round(pushed_.exchange(nullptr, acquire));
        T* const item = ready_;
        if (!item) return nullptr;
        ready_ = item->link;
        item->link = nullptr;
        count_.fetch_sub(1, relaxed);
        return item;
    }

private:
    static T* turned_round(T* newest) noexcept {
        T* oldest = nullptr;
        while (newest) {
            T* const next = newest->link;
            newest->link = oldest;
            oldest = newest;
            newest = next;
        }
        return oldest;
    }

    alignas(64) atomic<T*> pushed_{nullptr};
    atomic<std::size_t> count_{0};
    spin_lock lock_;
    T* ready_ WEFT_GUARDED_BY(lock_) = nullptr;  // the oldest (INJECTOR-4)
};

}  // namespace weft::detail

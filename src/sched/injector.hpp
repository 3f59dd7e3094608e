// injector.hpp - a shared run queue: what plain threads and carriers without a worker make runnable, and what a worker has no
// memory to queue.
//
// Who pushes may lose its core at any time and must stop nobody by it, so pushing takes no lock. Who pops is a worker, and
// there are few of those.
//
// Invariants
//   J1  Items leave in the order in which they came to pushed_, which is a stack: the newest first, turned round when it is taken.
//   J2  count_ is raised before a push and lowered after a pop. So after a push that happened before, no reader finds it zero until
//       somebody has popped; but a pop may find nothing although it is not zero: the item is about to come.
//   J3  A popper takes the whole of pushed_ by one exchange, so nobody compares a pointer that has come back (no ABA).
//   J4  ready_ belongs to the holder of lock_.
//
// Model test: tests/model/injector_model.cpp.
#pragma once

#include <cstddef>
#include <mutex>

#include "base/atomic.hpp"
#include "base/spin_lock.hpp"

namespace weft::detail {

/// T has a member `T* link`, which belongs to the list while the item is in it.
template <class T>
class injector {
public:
    injector() = default;
    injector(const injector&) = delete;
    injector& operator=(const injector&) = delete;

    bool empty() const noexcept { return size() == 0; }  // J2; ordered by the fences of idle_set
    std::size_t size() const noexcept { return count_.load(relaxed); }  // a hint
    /// Whether something was pushed that nobody has looked at yet.
    bool has_arrived() const noexcept { return pushed_.load(seq_cst) != nullptr; }

    void push(T& item) noexcept {
        count_.fetch_add(1, relaxed);  // J2; ordered before the pop's subtraction by the release of the push
        T* newest = pushed_.load(relaxed);
        do {
            item.link = newest;
        } while (!pushed_.compare_exchange_weak(newest, &item, release, relaxed));  // pairs with pop()
    }

    T* pop() noexcept {
        if (empty()) return nullptr;
        const std::lock_guard guard(lock_);
        if (!ready_) ready_ = turned_round(pushed_.exchange(nullptr, acquire));  // pairs with push(); J3
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
    T* ready_ = nullptr;  // the oldest (J4)
};

}  // namespace weft::detail

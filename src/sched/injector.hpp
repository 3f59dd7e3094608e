// injector.hpp - the shared run queue: what plain threads make runnable and what a worker has no memory to queue.
//
// Invariants
//   J1  Items leave in the order in which they came.
//   J2  count_ is the length of the list whenever the lock is free; read without it, it is a hint. After a push that
//       happened before, no reader finds it zero until somebody has popped.
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
    bool empty() const noexcept { return count_.load(relaxed) == 0; }  // J2; ordered by the fences of idle_set
    std::size_t size() const noexcept { return count_.load(relaxed); }  // a hint

    void push(T& item) noexcept {
        item.link = nullptr;
        const std::lock_guard guard(lock_);
        (tail_ ? tail_->link : head_) = &item;
        tail_ = &item;
        count_.store(count_.load(relaxed) + 1, relaxed);  // under the lock
    }

    T* pop() noexcept {
        if (empty()) return nullptr;
        const std::lock_guard guard(lock_);
        T* const item = head_;
        if (!item) return nullptr;
        head_ = item->link;
        if (!head_) tail_ = nullptr;
        item->link = nullptr;
        count_.store(count_.load(relaxed) - 1, relaxed);  // under the lock
        return item;
    }

private:
    alignas(64) spin_lock lock_;
    T* head_ = nullptr;
    T* tail_ = nullptr;
    atomic<std::size_t> count_{0};
};

}  // namespace weft::detail

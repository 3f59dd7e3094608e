#include "sched/timer_heap.hpp"

#include <weft/detail/annotated_locks.hpp>

#include <array>
#include <utility>

#include "fiber/waiter.hpp"

namespace weft::detail {

bool timer_heap::arm(timer& t, time_point when) noexcept {
    const lock_guard guard(lock_);
    t.when_ = when;
    t.heap_ = this;
    t.armed_ = true;
    insert(t);
    if (root_ != &t) return false;
    publish();
    return true;
}

void timer_heap::cancel(timer& t) noexcept {
    if (!t.heap_) return;
    auto& heap = *t.heap_;
    const lock_guard guard(heap.lock_);
    if (!t.armed_) return;
    const bool first = heap.root_ == &t;
    heap.erase(t);
    if (first) heap.publish();
}

unsigned timer_heap::expire(time_point now) noexcept {
    unsigned ended = 0;
    while (earliest() <= now) {
        // chosen: how many are claimed each time the lock is taken
        std::array<wait_cell*, 32> claimed;
        std::size_t n = 0;
        {
            const lock_guard guard(lock_);
            while (n < claimed.size() && root_ && root_->when_ <= now) {
                timer& t = *root_;
                erase(t);
                const auto verdict = t.fire(now);
                if (verdict.claimed) claimed[n++] = verdict.claimed;
                if (verdict.again == never) continue;
                t.when_ = verdict.again;
                t.armed_ = true;
                insert(t);
            }
            publish();
        }
        for (std::size_t i = 0; i < n; ++i) unpark(*claimed[i]);
        ended += static_cast<unsigned>(n);
    }
    return ended;
}

// Joins two heaps: the later root becomes the first child of the earlier one.
timer* timer_heap::meld(timer* a, timer* b) noexcept {
    if (!a) return b;
    if (!b) return a;
    if (b->when_ < a->when_) std::swap(a, b);
    b->before_ = a;
    b->sibling_ = a->child_;
    if (a->child_) a->child_->before_ = b;
    a->child_ = b;
    return a;
}

// Joins siblings in pairs from left to right, then all pairs from right to left. This makes the
// heap's operations logarithmic, amortised.
timer* timer_heap::meld_siblings(timer* first) noexcept {
    timer* pairs = nullptr;
    while (first) {
        timer* const a = first;
        timer* const b = a->sibling_;
        first = b ? b->sibling_ : nullptr;
        a->sibling_ = a->before_ = nullptr;
        if (b) b->sibling_ = b->before_ = nullptr;
        timer* const pair = meld(a, b);
        pair->sibling_ = pairs;
        pairs = pair;
    }
    timer* all = nullptr;
    while (pairs) {
        timer* const next = std::exchange(pairs->sibling_, nullptr);
        all = meld(all, pairs);
        pairs = next;
    }
    return all;
}

void timer_heap::insert(timer& t) noexcept { root_ = meld(root_, &t); }

void timer_heap::erase(timer& t) noexcept {
    timer* const orphans = meld_siblings(std::exchange(t.child_, nullptr));
    if (root_ == &t) {
        root_ = orphans;
    } else {
        (t.before_->child_ == &t ? t.before_->child_ : t.before_->sibling_) = t.sibling_;
        if (t.sibling_) t.sibling_->before_ = t.before_;
        t.sibling_ = t.before_ = nullptr;
        root_ = meld(root_, orphans);
    }
    t.armed_ = false;
}

void timer_heap::publish() noexcept {
    const auto first = root_ ? root_->when_ : never;
    // pairs with earliest(), and with lead::oversleeps() after it (LEAD-3)
    earliest_.store(first.time_since_epoch().count(), seq_cst);
}

}  // namespace weft::detail

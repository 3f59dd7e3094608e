// few_at_once.hpp - a queue of which only a few items are served at a time.
//
// An item is taken together with one of a few places, which is given back when the item has been
// served.
//
// Invariants
//   FEW_AT_ONCE-1  places_ counts the takers that have a place and have not given it back. There
//                  are at most `most`, except for takers that are about to find out that there is
//                  no place.
//   FEW_AT_ONCE-2  An item in the queue is taken as soon as a place is free: a thread that gives a
//                  place back looks at the queue again, and one that pushes while a place is free
//                  says so (returns true), so that a taker is sent. (Dekker: push, fence, places;
//                  places, fence, queue.)
#pragma once

#include <algorithm>

#include "base/atomic.hpp"
#include "sched/injector.hpp"

namespace weft::detail {

/// T as in injector.
template <class T>
class few_at_once {
public:
    explicit few_at_once(unsigned most) noexcept : most_(most) {}

    /// \returns whether a taker should be sent for the item (FEW_AT_ONCE-2).
    bool push(T& item) noexcept {
        queue_.push(item);
        // FEW_AT_ONCE-2; pairs with the fence in give_back_place()
        fence(seq_cst);
        return places_.load(relaxed) < most_;
    }
    bool is_waited_for() const noexcept { return !queue_.empty(); }
    /// \returns how many takers could be sent for the items that wait. A hint.
    unsigned takers_needed() const noexcept {
        const auto taken = places_.load(relaxed);
        return taken >= most_ ? 0 : static_cast<unsigned>(std::min<std::size_t>(queue_.size(), most_ - taken));
    }

    /// Takes an item and with it a place. \returns null if there is no place or no item.
    T* take() noexcept {
        while (!queue_.empty()) {
            // A count; the queue orders the items.
            const bool has_place = places_.fetch_add(1, relaxed) < most_;
            if (auto* const item = has_place ? queue_.pop() : nullptr) return item;
            give_back_place();
            // An item that is about to come is left to its pusher, which looks at the places
            // afterwards. One that has come meanwhile is not.
            if (has_place ? !queue_.has_arrived() : places_.load(relaxed) >= most_) return nullptr;
        }
        return nullptr;
    }
    /// Gives a place back. The caller then looks at the queue again (FEW_AT_ONCE-2), or makes sure
    /// that another thread does.
    void give_back_place() noexcept {
        places_.fetch_sub(1, relaxed);
        // FEW_AT_ONCE-2; pairs with the fence in push(). A seq_cst subtraction alone would not
        // order the relaxed look at the queue after it.
        fence(seq_cst);
    }

private:
    const unsigned most_;
    injector<T> queue_;
    alignas(64) atomic<unsigned> places_{0};
};

}  // namespace weft::detail

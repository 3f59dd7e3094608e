// few_at_once.hpp - a queue whose items are taken together with one of a few places, so that no more of them are served at once.
//
// Invariants
//   D2  places_ counts the takers that have a place and have not given it back: at most `most`, but for those who are about to find
//       out that there is none.
//   D3  An item in the queue is taken as soon as a place is free: who gives a place back looks again, and who pushes while
//       one is free says so (returns true), so that somebody is sent. (Dekker: push, fence, places; places, fence, queue.)
//
// Model test: tests/model/few_at_once_model.cpp.
#pragma once

#include <algorithm>

#include "base/atomic.hpp"
#include "sched/injector.hpp"

namespace weft::detail {

/// T as injector has it.
template <class T>
class few_at_once {
public:
    explicit few_at_once(unsigned most) noexcept : most_(most) {}

    /// \returns whether somebody should be sent for it (D3).
    bool push(T& item) noexcept {
        queue_.push(item);
        fence(seq_cst);
        return places_.load(relaxed) < most_;
    }
    bool is_waited_for() const noexcept { return !queue_.empty(); }
    /// How many could be sent for what waits: a hint.
    unsigned takers_needed() const noexcept {
        const auto taken = places_.load(relaxed);
        return taken >= most_ ? 0 : static_cast<unsigned>(std::min<std::size_t>(queue_.size(), most_ - taken));
    }

    /// An item, and with it a place; null if there is no place or no item.
    T* take() noexcept {
        while (!queue_.empty()) {
            const bool has_place = places_.fetch_add(1, relaxed) < most_;  // a count; the queue orders the items
            if (auto* const item = has_place ? queue_.pop() : nullptr) return item;
            give_back_place();
            // An item that is about to come is its pusher's to see to, who looks at the places after; but not if it has come meanwhile.
            if (has_place ? !queue_.has_arrived() : places_.load(relaxed) >= most_) return nullptr;
        }
        return nullptr;
    }
    /// The caller looks again (D3), or sees to it that somebody does.
    void give_back_place() noexcept {
        places_.fetch_sub(1, relaxed);
        fence(seq_cst);  // D3: a seq_cst subtraction alone would not order the relaxed look at the queue that follows
    }

private:
    const unsigned most_;
    injector<T> queue_;
    alignas(64) atomic<unsigned> places_{0};
};

}  // namespace weft::detail

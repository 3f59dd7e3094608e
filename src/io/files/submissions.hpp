// submissions.hpp - what fibers ask of the thread of a file engine: a list that knows whether the
// thread sleeps.
//
//  word     meaning                                   leaves by (e: the engine's thread)
//  empty    nothing is submitted, the thread is awake  push -> listed | e fall_asleep -> asleep | e close -> closed
//  listed   items, the newest first                    push -> listed | e take -> empty | e close -> closed
//  asleep   nothing is submitted, the thread sleeps    push -> listed, and the pusher wakes it
//           or is about to                             e take -> empty (something else has woken it)
//  closed   nothing is taken any more                  -
//
// Invariants
//   SUBMISSIONS-1  An item belongs to the engine from a push() that has not answered `closed` on.
//                  What the pusher has written to it before is visible to take() and close().
//   SUBMISSIONS-2  The thread sleeps only after fall_asleep() has returned true, but for a nap, which
//                  ends by itself (FILE_ENGINE-1). All changes are of one word, so the first push()
//                  after that finds `asleep`, and answers `wake`; the pusher then does what ends the
//                  sleep, or the sleep to come. No other does.
//   SUBMISSIONS-3  take() and close() return the items in the order of their pushes. So the wish to
//                  cancel an operation comes after the operation.
//   SUBMISSIONS-4  A pusher that is to wake the thread sees what the thread saw before it fell asleep:
//                  the thing to wake it by.
//   SUBMISSIONS-5  Items leave all at once, by an exchange. So no thread compares a pointer that has
//                  come back (no ABA).
//
// Model test: tests/model/submissions_model.cpp.
#pragma once

#include <cstdint>

#include "base/atomic.hpp"

namespace weft::detail {

/// An item of the list. The link is the list's from push() on, and the taker's afterwards.
struct submission {
    plain<submission*> link{nullptr};
};

class submissions {
public:
    enum class [[nodiscard]] pushed : std::uint8_t { added, wake, closed };

    submissions() noexcept = default;
    submissions(const submissions&) = delete;
    submissions& operator=(const submissions&) = delete;

    /// Any thread. wake: the caller wakes the thread (SUBMISSIONS-2). closed: the item stays the
    /// caller's.
    pushed push(submission& item) noexcept {
        auto* newest = word_.load(relaxed);  // the exchange decides
        do {
            if (newest == &closed_) return pushed::closed;
            item.link.set(newest == &asleep_ ? nullptr : newest);
        // release: pairs with take() and close() (SUBMISSIONS-1); acquire: with fall_asleep() (SUBMISSIONS-4)
        } while (!word_.compare_exchange_weak(newest, &item, acq_rel, relaxed));
        return newest == &asleep_ ? pushed::wake : pushed::added;
    }

    // The engine's thread.

    /// All items, linked, the oldest first. The thread is awake afterwards.
    submission* take() noexcept {
        if (word_.load(relaxed) == nullptr) return nullptr;  // one that comes now is taken at the next turn
        return turned_round(word_.exchange(nullptr, acquire));  // pairs with push()
    }
    /// False: there is something to take.
    [[nodiscard]] bool fall_asleep() noexcept {
        submission* expected = nullptr;
        return word_.compare_exchange_strong(expected, &asleep_, release, relaxed);  // pairs with push() (SUBMISSIONS-4)
    }
    /// As take(); every later push() answers `closed`.
    submission* close() noexcept { return turned_round(word_.exchange(&closed_, acquire)); }  // pairs with push()

private:
    submission* turned_round(submission* newest) noexcept {
        if (newest == &asleep_ || newest == &closed_) return nullptr;
        submission* oldest = nullptr;
        while (newest) {
            auto* const older = newest->link.get();
            newest->link.set(oldest);
            oldest = newest;
            newest = older;
        }
        return oldest;
    }

    submission asleep_, closed_;  // their addresses are states of the word
    atomic<submission*> word_{nullptr};
};

}  // namespace weft::detail

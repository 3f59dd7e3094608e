// life_word.hpp - the word that says how long a control block is in use.
//
// It counts the references to the block, and says whether its body has ended.
//
//  part       meaning                             set by                  cleared by
//  reference  a count: one of the run, one of     its holder              its holder; the last
//             the handle, one of each thread                              drop frees the block
//             that looks at the fiber
//  handle     a join is still possible            begin()                 drop_handle(),
//                                                                         free_joined()
//  done       the body has ended                  the run                 with the word
//  awaited    a waiter is, or was, among the      the waiter, under lock  with the word
//             joiners
//
// Invariants
//   LIFE_WORD-1  Zero means that the block is free. From begin() to the last drop, or to
//                free_joined(), it is not zero, and no other fiber gets the block.
//   LIFE_WORD-2  A reference is added by a thread that holds one, or by try_refer() of an observer.
//   LIFE_WORD-3  The thread that holds the last count may write the word without a
//                read-modify-write if it is inside a visit to its worker's queue (run_queue.hpp)
//                and has seen no observer in this visit. An observer announces itself, passes a
//                heavy fence and waits until each worker has been outside of a visit; only then it
//                calls try_refer() (scheduler::living()).
//   LIFE_WORD-4  Of the end of the run and drop_handle(), the one that comes second finds the mark
//                of the first, and destroys the body. So the body is destroyed once. (Both are
//                read-modify-writes unless LIFE_WORD-3 holds.)
//   LIFE_WORD-5  A joiner that has ended the run itself keeps the handle mark without any
//                reference. No thread can get a reference any more, so only the joiner writes the
//                word.
//
// Model test: tests/model/life_word_model.cpp.
#pragma once

#include <cstdint>

#include "base/atomic.hpp"

namespace weft::detail {

class life_word {
public:
    /// Begins a new use of the block, with the reference of the run and that of the handle.
    void begin(bool detached) noexcept {
        // pairs with try_refer()
        word_.store(detached ? reference : handle + 2 * reference, release);
    }

    bool in_use() const noexcept { return word_.load(relaxed) != 0; }  // a hint
    // pairs with the end: the result
    bool has_ended() const noexcept { return word_.load(acquire) & done; }

    // References (LIFE_WORD-2).
    void refer() noexcept { word_.fetch_add(reference, relaxed); }
    bool try_refer() noexcept {
        auto now = word_.load(relaxed);
        do {
            if (now < reference) return false;  // LIFE_WORD-1
            // acquire: pairs with begin()
        } while (!word_.compare_exchange_weak(now, now + reference, acquire, relaxed));
        return true;
    }
    /// True if it was the last reference: the caller then gives the block back.
    [[nodiscard]] bool drop() noexcept {
        // Pairs with itself. release: what this holder did; acquire: what the other holders did.
        if (word_.fetch_sub(reference, acq_rel) / reference != 1) return false;
        word_.store(0, relaxed);  // clears the other bits
        return true;
    }

    /// Called before the caller waits for the end. False: the body has ended already.
    // acquire pairs with the end: the result; release pairs with is_unjoinable()
    [[nodiscard]] bool await() noexcept { return !(word_.fetch_or(awaited, acq_rel) & done); }

    // The end of the run.

    /// Whether no join is possible and none was tried.
    // pairs with drop_handle()
    bool is_unjoinable() const noexcept { return !(word_.load(acquire) & (handle | awaited)); }
    /// Ends a run that can still be joined: marks the end and drops the run's reference in one
    /// step, if no waiter exists yet. False: nothing was done.
    [[nodiscard]] bool end_and_drop() noexcept {
        auto now = word_.load(relaxed);
        while ((now & handle) && !(now & awaited))
            // pairs with has_ended()
            if (word_.compare_exchange_weak(now, now + done - reference, release, relaxed)) return true;
        return false;
    }
    struct marks {
        bool had_handle, was_awaited;
    };
    /// Ends the run in the general case; the run's reference stays.
    marks end() noexcept {
        // release pairs with has_ended(): the result; acquire pairs with await()
        const auto before = word_.fetch_or(done, acq_rel);
        return {.had_handle = (before & handle) != 0, .was_awaited = (before & awaited) != 0};
    }

    // The end of the handle.

    /// Whether the run has ended and dropped its reference, so that the handle has the only one.
    // pairs with the end
    bool is_only_handle() const noexcept { return word_.load(acquire) == (handle | done) + reference; }
    /// For a handle that goes before the body ends; the run then destroys the body. Takes the
    /// handle's mark and reference away in one step. False: the body has ended, and nothing was
    /// done.
    [[nodiscard]] bool drop_handle_early() noexcept {
        auto now = word_.load(relaxed);
        while (!(now & done))
            // pairs with is_unjoinable()
            if (word_.compare_exchange_weak(now, now - handle - reference, release, relaxed)) return true;
        return false;
    }
    /// Takes the handle's mark away; its reference stays. True: the body has ended, and the caller
    /// must destroy it (LIFE_WORD-4).
    // acquire pairs with the end: the body; release pairs with is_unjoinable()
    [[nodiscard]] bool drop_handle() noexcept { return word_.fetch_and(~handle, acq_rel) & done; }

    // Without a read-modify-write (LIFE_WORD-3).

    /// Frees the block if the run's reference is the only one. False: nothing was done.
    [[nodiscard]] bool free_after_run() noexcept { return free_from(reference); }
    [[nodiscard]] bool free_after_handle() noexcept { return free_from((handle | done) + reference); }
    /// Ends the run if the run and the handle have the only two references and the caller owns
    /// both. The caller goes on without either (LIFE_WORD-5).
    [[nodiscard]] bool end_beside_handle() noexcept {
        if (word_.load(acquire) != handle + 2 * reference) return false;  // pairs with drop()
        word_.store(handle | done, release);  // pairs with has_ended()
        return true;
    }
    /// Whether LIFE_WORD-5 holds for the caller, which has joined.
    // relaxed: the caller reads its own store, or some other value
    bool is_joined() const noexcept { return word_.load(relaxed) == (handle | done); }
    void free_joined() noexcept { word_.store(0, relaxed); }

private:
    friend struct debug_layout;
    static constexpr std::uint32_t awaited = 1, done = 2, handle = 4, reference = 8;

    [[gnu::always_inline]] bool free_from(std::uint32_t only) noexcept {
        // pairs with drop() of the earlier holders
        if (word_.load(acquire) != only) [[unlikely]]
            return false;
        word_.store(0, relaxed);
        return true;
    }

    atomic<std::uint32_t> word_{0};
};

}  // namespace weft::detail

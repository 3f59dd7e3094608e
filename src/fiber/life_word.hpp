// life_word.hpp - the word that says how long a control block is used: whether its body has ended, who still refers to it.
//
//  part       meaning                                       set by                  cleared by
//  reference  a count: the run's, the handle's, those of    its holder              its holder; the last gives the block back
//             who looks at the fiber meanwhile
//  handle     somebody may still join                       begin()                 drop_handle(), free_joined()
//  done       the body has ended                            the run                 with the word
//  awaited    a waiter is, or was, among the joiners        the waiter, under lock  with the word
//
// Invariants
//   F1  Zero: the block is free. From begin() to the last drop, or free_joined(), it is not, and nobody else takes it.
//   F2  A reference is added by who holds one, or by try_refer() of an observer.
//   F3  Who holds the last count may write the word without a read-modify-write, inside a visit to its worker's queue
//       (run_queue.hpp) in which it has seen no observer: an observer makes itself known, passes a heavy fence and waits until
//       each worker has been outside before it calls try_refer() (scheduler::living()).
//   F4  Of end and drop_handle() one finds the other's mark (both are read-modify-writes unless F3 holds): the body is
//       destroyed once, by who comes second.
//   F5  A joiner that has ended the run itself keeps the handle without any reference: nobody can refer to the fiber any more, so
//       nobody but the joiner writes the word.
//
// Model test: tests/model/life_word_model.cpp.
#pragma once

#include <cstdint>

#include "base/atomic.hpp"

namespace weft::detail {

class life_word {
public:
    /// A new use of the block: the run's reference, and the handle's.
    void begin(bool detached) noexcept {
        word_.store(detached ? reference : handle + 2 * reference, release);  // pairs with try_refer()
    }

    bool in_use() const noexcept { return word_.load(relaxed) != 0; }             // a hint
    bool has_ended() const noexcept { return word_.load(acquire) & done; }        // pairs with the end: the result

    // References (F2).
    void refer() noexcept { word_.fetch_add(reference, relaxed); }
    bool try_refer() noexcept {
        auto now = word_.load(relaxed);
        do {
            if (now < reference) return false;  // F1
        } while (!word_.compare_exchange_weak(now, now + reference, acquire, relaxed));  // pairs with begin()
        return true;
    }
    /// True if it was the last: the block is the caller's to give back.
    [[nodiscard]] bool drop() noexcept {
        // release: what this holder did; acquire: what the others did
        if (word_.fetch_sub(reference, acq_rel) / reference != 1) return false;
        word_.store(0, relaxed);  // the other bits
        return true;
    }

    /// Of who is about to wait for the end. False: it has come already.
    [[nodiscard]] bool await() noexcept { return !(word_.fetch_or(awaited, acq_rel) & done); }

    // The end of the run.

    /// Nobody can join, nor has tried to.
    bool is_unjoinable() const noexcept { return !(word_.load(acquire) & (handle | awaited)); }  // pairs with drop_handle()
    /// Ends a run that others may join: marks it and drops its reference in one step, if nobody waits yet. False: nothing was done.
    [[nodiscard]] bool end_and_drop() noexcept {
        auto now = word_.load(relaxed);
        while ((now & handle) && !(now & awaited))
            if (word_.compare_exchange_weak(now, now + done - reference, release, relaxed)) return true;  // pairs with has_ended()
        return false;
    }
    struct marks {
        bool had_handle, was_awaited;
    };
    /// The same in the general case; the reference stays.
    marks end() noexcept {
        const auto before = word_.fetch_or(done, acq_rel);  // release: the result
        return {.had_handle = (before & handle) != 0, .was_awaited = (before & awaited) != 0};
    }

    // The end of the handle.

    /// The run has ended and gone: the handle has the only reference.
    bool is_only_handle() const noexcept { return word_.load(acquire) == (handle | done) + reference; }  // pairs with the end
    /// Before the end, which is then who destroys the body: takes the mark and the reference away in one step. False: it has ended, and
    /// nothing was done.
    [[nodiscard]] bool drop_handle_early() noexcept {
        auto now = word_.load(relaxed);
        while (!(now & done))
            if (word_.compare_exchange_weak(now, now - handle - reference, release, relaxed)) return true;  // pairs with is_unjoinable()
        return false;
    }
    /// Takes the handle's mark away; its reference stays. True: the body has ended, and is the caller's (F4).
    [[nodiscard]] bool drop_handle() noexcept { return word_.fetch_and(~handle, acq_rel) & done; }

    // Without a read-modify-write (F3).

    /// The run's reference is the only one. False: nothing was done.
    [[nodiscard]] bool free_after_run() noexcept { return free_from(reference); }
    [[nodiscard]] bool free_after_handle() noexcept { return free_from((handle | done) + reference); }
    /// Run and handle have the only two references, and are in one hand, which goes on without either (F5).
    [[nodiscard]] bool end_beside_handle() noexcept {
        if (word_.load(acquire) != handle + 2 * reference) return false;  // pairs with drop()
        word_.store(handle | done, release);                              // pairs with has_ended()
        return true;
    }
    /// F5 holds of the caller, who has joined.
    bool is_joined() const noexcept { return word_.load(relaxed) == (handle | done); }  // its own store, or another value
    void free_joined() noexcept { word_.store(0, relaxed); }

private:
    friend struct debug_layout;
    static constexpr std::uint32_t awaited = 1, done = 2, handle = 4, reference = 8;

    [[gnu::always_inline]] bool free_from(std::uint32_t only) noexcept {
        if (word_.load(acquire) != only) [[unlikely]]
            return false;  // pairs with drop() of those that were others
        word_.store(0, relaxed);
        return true;
    }

    atomic<std::uint32_t> word_{0};
};

}  // namespace weft::detail

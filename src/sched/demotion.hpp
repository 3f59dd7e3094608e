// demotion.hpp - the class of fibers that have lost a worker by computing: they run on carriers that have none, a few at a time.
//
// Put back among the others a fiber that computes for 30 ms at a time would have each worker for a slice whenever its turn comes,
// and all who wait would wait for that (measured with 16 of them: 46 ms at the median, 22 us with this class; mechanisms.md, 2.4).
//
// A fiber is demoted by its own carrier, when it parks or yields without the worker it has lost. It becomes an ordinary one again
// after so many bursts in a row that were short.
//
// Invariants
//   D1  `make_ready` of a fiber changes only while its owner is active, or nobody but the caller can run it: whoever has claimed
//       its wait finds it settled.
//   D2  places_ counts the carriers that run a demoted fiber they took here and have not overstayed: at most `most`.
//   D3  A fiber in the queue is taken as soon as a place is free: who gives a place back looks again, and who pushes while
//       one is free says so (returns true), so that somebody is sent. (Dekker: push, fence, places; places, fence, queue.)
#pragma once

#include <algorithm>

#include <weft/detail/clock.hpp>

#include "fiber/control_block.hpp"
#include "sched/injector.hpp"

namespace weft::detail {

class demotion {
public:
    /// `slice`: what an ordinary fiber may compute at once.
    demotion(unsigned most, duration slice) noexcept : most_(most), short_burst_(slice / 4) {}

    /// Marks the fiber. The owner, while it is active, or who alone may run it (D1).
    static void demote(control_block& f, void (*ready)(wait_cell&) noexcept) noexcept {
        if (f.demoted) return;
        f.demoted = true;
        f.rest().short_bursts = 0;
        f.rest().make_ready.store(ready, relaxed);
    }
    /// The opposite: who alone may run it.
    static void promote(control_block& f, void (*ready)(wait_cell&) noexcept) noexcept {
        f.demoted = false;
        f.rest().make_ready.store(ready, relaxed);
    }

    /// \returns whether a carrier should be sent for it (D3).
    bool push(control_block& f) noexcept {
        queue_.push(f);
        fence(seq_cst);
        return places_.load(relaxed) < most_;
    }
    bool is_waited_for() const noexcept { return !queue_.empty(); }
    /// How many carriers could run a fiber that waits: a hint.
    unsigned carriers_needed() const noexcept {
        const auto taken = places_.load(relaxed);
        return taken >= most_ ? 0 : static_cast<unsigned>(std::min<std::size_t>(queue_.size(), most_ - taken));
    }

    /// A fiber to run, and with it a place; null if there is no place or no fiber. It may have to be waited for (W4).
    control_block* take() noexcept {
        while (!queue_.empty()) {
            const bool has_place = places_.fetch_add(1, seq_cst) < most_;
            if (auto* const f = has_place ? queue_.pop() : nullptr) return f;
            give_back_place();
            // An item that is about to come is its pusher's to see to, who looks at the places after; but not if it has come meanwhile.
            if (has_place ? !queue_.has_arrived() : places_.load(seq_cst) >= most_) return nullptr;
        }
        return nullptr;
    }
    void give_back_place() noexcept { places_.fetch_sub(1, seq_cst); }  // D3

    /// Whether it has behaved for long enough. Who alone may run it.
    bool is_rehabilitated(const control_block& f) const noexcept { return f.rest().short_bursts >= bursts_to_prove_; }
    /// Before others may run it.
    void burst_ends(control_block& f, duration cpu) const noexcept {
        if (cpu >= short_burst_)
            f.rest().short_bursts = 0;
        else if (f.rest().short_bursts < bursts_to_prove_)
            ++f.rest().short_bursts;
    }

private:
    static constexpr std::uint8_t bursts_to_prove_ = 8;  // chosen: research/mechanisms.md, 2.8

    const unsigned most_;
    const duration short_burst_;
    injector<control_block> queue_;
    alignas(64) atomic<unsigned> places_{0};
};

}  // namespace weft::detail

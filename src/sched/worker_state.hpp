// worker_state.hpp - what a worker is in the middle of, and what its next pick() must look at.
//
// One word of flags. Only the carrier that has the worker reads and writes it, on its visits or
// while it runs no fiber (CARRIER-4), so it is not atomic. The common paths test one bit, which
// costs what a bool would: pick() tests `news`, and a wake-up tests `batch`.
//
//  flag      is set while                                begins by              ends by
//  news      pick() has more to do than to pop a fiber   note_timer(), and      read_news(),
//                                                        all marked *           end_classes()
//  classes   fibers of another class than normal are     attend_classes() *     end_classes()
//            queued here, or have the turn (WORKER-3)
//  draining  the worker is surplus and gives its         begin_drain() *        end_drain()
//            fibers away (WORKER-4)
//  pinned    a fiber pinned to the carrier may go next   give_pinned_turn() *   end_pinned_turn()
//            (PINNED-4)
//  last      the last pick() that had news took a        end_pinned_turn()      put_pinned_off() *,
//            pinned fiber                                                       end_pinned_turn()
//  better    the worker has low fibers only, and is to   seek_better()          seek_no_more(),
//            look elsewhere before it runs them                                 end_classes()
//  batch     it takes many wake-ups in: they keep their  begin_taking_in()      end_taking_in()
//            order, and notify() comes after the last
//  searcher  idle_set counts it as searching             begin_search()         end_search()
//  spin      it found work lately, so a short spin may   found_work()           take_spin()
//            pay
//
// The invariants say which flags come together; flags that they do not mention are independent.
//
// Invariants
//   WORKER_STATE-1  After pick(), while classes, draining or pinned is set, so is news: the next
//                   pick() attends to them.
//   WORKER_STATE-2  While better is set, so is classes.
//   WORKER_STATE-3  batch begins and ends in one function, which is on a visit or runs no fiber,
//                   and begins no batch inside the batch. So a worker never changes hands with it.
//   WORKER_STATE-4  searcher is set from when begin_search() or retract() of idle_set has made the
//                   worker the searcher until it calls end_search() or announce_sleep() there.
//
// worker::alone_ is not among the flags, since it never changes.
#pragma once

#include <cstdint>

#include "base/panic.hpp"

namespace weft::detail {

class worker_state {
public:
    // What pick() looks at:

    bool has_news() const noexcept { return is(news); }
    /// A timer was armed that sleeping workers may not know of.
    void note_timer() noexcept { set(news); }
    /// Called when pick() attends to the news: only classes need it again at the next pick().
    void read_news() noexcept {
        if (!is(classes)) clear(news);
    }

    bool has_classes() const noexcept { return is(classes); }
    void attend_classes() noexcept { set(classes | news); }
    /// Called when pick() has read the news and only normal fibers are left.
    void end_classes() noexcept {
        require(is(classes), "WORKER_STATE-1: only classes that were attended to can end");
        clear(classes | better | (is(pinned) ? 0U : news));  // WORKER_STATE-1, WORKER_STATE-2
    }

    bool drains() const noexcept { return is(draining); }
    void begin_drain() noexcept { set(draining | news); }
    /// Leaves the news, since there may be other.
    void end_drain() noexcept { clear(draining); }

    bool pinned_has_turn() const noexcept { return is(pinned); }
    bool pinned_went_last() const noexcept { return is(last); }
    void give_pinned_turn() noexcept { set(pinned | news); }
    /// Lets other fibers go first, once; the turn of the pinned comes at the next pick().
    void put_pinned_off() noexcept {
        require(is(pinned) && is(last), "PINNED-4: pinned fibers are put off only in their turn, after one went");
        clear(last);
        set(news);
    }
    enum class went : bool { no, yes };
    /// Called when pick() has read the news, also if there was no turn. `one`: whether one went.
    void end_pinned_turn(went one) noexcept {
        clear(pinned | last);
        if (one == went::yes) set(last);
    }

    // The other flags:

    bool seeks_better() const noexcept { return is(better); }
    void seek_better() noexcept {
        require(is(classes), "WORKER_STATE-2: only a worker with classes seeks better fibers");
        set(better);
    }
    void seek_no_more() noexcept { clear(better); }

    bool takes_in() const noexcept { return is(batch); }
    void begin_taking_in() noexcept {
        require(!is(batch), "WORKER_STATE-3: no batch begins inside another");
        set(batch);
    }
    void end_taking_in() noexcept {
        require(is(batch), "WORKER_STATE-3: a batch ends once, after it began");
        clear(batch);
    }

    bool searches() const noexcept { return is(searcher); }
    void begin_search() noexcept {
        require(!is(searcher), "WORKER_STATE-4: a worker becomes the searcher once");
        set(searcher);
    }
    /// \returns whether it was the searcher; then the caller tells idle_set.
    [[nodiscard]] bool end_search() noexcept { return take(searcher); }

    void found_work() noexcept { set(spin); }
    /// \returns whether work was found since the last call.
    [[nodiscard]] bool take_spin() noexcept { return take(spin); }

private:
    enum flag : std::uint32_t {
        news = 1,
        batch = 1 << 1,
        classes = 1 << 2,
        draining = 1 << 3,
        pinned = 1 << 4,
        last = 1 << 5,
        better = 1 << 6,
        searcher = 1 << 7,
        spin = 1 << 8,
    };

    bool is(flag f) const noexcept { return (word_ & f) != 0; }
    void set(std::uint32_t flags) noexcept { word_ |= flags; }
    void clear(std::uint32_t flags) noexcept { word_ &= ~flags; }
    bool take(flag f) noexcept {
        const bool was = is(f);
        clear(f);
        return was;
    }

    std::uint32_t word_ = 0;
};

}  // namespace weft::detail

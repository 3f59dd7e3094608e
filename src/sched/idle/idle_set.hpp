// idle_set.hpp - which workers sleep, whether one searches, and which is woken when there is work.
//
// No wake-up is lost. A worker is busy, searching (spinning, or napping between looks) or sleeping
// (announced here). At most one searches.
//
//      a thread that has work for others           a worker that runs out of work
//   1  publish it (run queue, injector)         1  announce_sleep(): sleeping + 1,
//                                                  searching - 1 if it searched
//   2  light fence                              2  heavy fence, or an ordinary one (IDLE_SET-6,
//                                                  IDLE_SET-8)
//   3  searching == 0 and sleeping > 0 ?        3  look at every queue once more;
//      then claim a sleeper and wake it            if there is work, retract() and go on
//                                               4  sleep until woken
//
// Invariants
//   IDLE_SET-1  `word_` counts the searchers (low half) and the announced sleepers (high half);
//               every change is one read-modify-write.
//   IDLE_SET-2  If step 3 on the left wakes no sleeper because a worker searches, nothing is lost.
//               When that searcher stops, it changes word_ after the waker has read it. It then
//               passes a fence as in step 2 on the right and looks at the queues again: it finds the
//               work, another worker has taken it, or IDLE_SET-8 holds. It may skip that look only
//               if no worker is asleep at its change: a worker that announces its sleep later looks
//               itself (IDLE_SET-3).
//   IDLE_SET-3  If step 3 on the left finds no sleeper, every sleeper announces later and finds the
//               work in its step 3, or IDLE_SET-8 holds.
//   IDLE_SET-4  A sleeper claimed by claim_sleeper() or claim_sleeper_but() counts as searching
//               from that moment, so one piece of work does not wake two.
//   IDLE_SET-5  A worker is announced at most once; retract() tells it whether it was claimed
//               meanwhile (then a wake token is on its way, and it searches).
//   IDLE_SET-6  The last worker to announce itself needs no heavy fence: each announcement
//               before it, a seq_cst change of word_, has made its worker's earlier pushes visible
//               here, and a worker that leaves again changes word_ later and so sees this one. A
//               thread that is not a worker passes a full fence before step 3 (wake_searcher()).
//               For the same reason a searcher that stops needs no heavy fence if all others sleep.
//   IDLE_SET-7  allow() sets how many workers may be awake, which is at least one. While so many
//               are awake, claim_sleeper() refuses as if no worker slept. A worker that announces
//               itself then sleeps without step 3, because a worker that is awake announces itself
//               later and takes that step, the last one in any case. (monitor::follow_quota() sees
//               to workers that are stuck.) The limit, `most_`, is written under lock_, so a thread
//               that raises it and wakes a sleeper takes care of whatever was refused before. The
//               limit does not end the work of a worker that is awake: a surplus worker notices by
//               too_many_awake() and drains its queues.
//   IDLE_SET-8  A heavy fence interrupts each CPU that runs a thread of the process. So while a
//               monitor looks (`is_watched`), a worker passes an ordinary fence instead, and then
//               calls monitor::somebody_runs(). What it misses was published by a worker that is
//               awake. That worker looks for sleepers again at its next poll, and if it does not
//               poll, the monitor's next look does: a monitor that rests has been called, or it
//               passes a heavy fence afterwards and sees the work (BURST-1, BURST-3).
//
// Work that a worker foresees to end before another is awake is not published in this sense
// (burst.hpp): neither column looks at it.
//
// If a fence is removed, both sides can miss each other: the model test
// tests/model/idle_model.cpp expects that run.
#pragma once

#include <weft/detail/annotated_locks.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/atomic.hpp"
#include "base/spin_lock.hpp"

namespace weft::detail {

class idle_set {
public:
    explicit idle_set(unsigned workers) : workers_(workers), most_(workers) { sleepers_.reserve(workers); }
    idle_set(const idle_set&) = delete;
    idle_set& operator=(const idle_set&) = delete;

    /// Steps 2 and 3 on the left, called by a worker after it published work. Another thread calls
    /// fence(seq_cst) before.
    /// \returns whether claim_sleeper() must follow.
    [[gnu::always_inline]] bool lacks_searcher() const noexcept {
        light_fence();  // pairs with order_looks(), or with monitor::sleep_until() (IDLE_SET-8)
        const auto now = word_.load(relaxed);  // ordered by the fence
        return searching(now) == 0 && sleeping(now) != 0;  // IDLE_SET-2, IDLE_SET-3
    }

    /// Makes the caller the searcher if there is none.
    bool begin_search() noexcept {
        auto now = word_.load(relaxed);
        do {
            if (searching(now) != 0) return false;
            // IDLE_SET-2; pairs with the fence in lacks_searcher()
        } while (!word_.compare_exchange_weak(now, now + one_searching, seq_cst, relaxed));
        return true;
    }

    /// Called by the searcher when it has found work or stops searching; if `is_watched`, it calls
    /// monitor::somebody_runs() afterwards. \returns whether it must now look at the queues
    /// (IDLE_SET-2).
    [[nodiscard]] bool end_search(bool is_watched) noexcept {
        // IDLE_SET-2; pairs with announce_sleep()
        const auto asleep = sleeping(word_.fetch_sub(one_searching, seq_cst));
        if (asleep == 0) return false;
        order_looks(asleep, is_watched);
        return true;
    }

    /// Steps 1 and 2 on the right. \returns whether the worker must now call
    /// monitor::somebody_runs() (IDLE_SET-8).
    [[nodiscard]] bool announce_sleep(unsigned worker, bool was_searching, bool is_watched) noexcept {
        unsigned others_asleep = 0;
        {
            const lock_guard guard(lock_);
            sleepers_.push_back(worker);
            // IDLE_SET-3, IDLE_SET-6; pairs with end_search() and retract()
            others_asleep = sleeping(word_.fetch_add(one_sleeping - (was_searching ? one_searching : 0), seq_cst));
        }
        return order_looks(others_asleep, is_watched);
    }

    /// Takes the announcement back. False: the worker was claimed; it is searching now, and a token
    /// is on its way (IDLE_SET-5).
    bool retract(unsigned worker) noexcept {
        const lock_guard guard(lock_);
        for (auto& s : sleepers_) {
            if (s != worker) continue;
            sleepers_.erase(sleepers_.begin() + (&s - sleepers_.data()));
            // IDLE_SET-6; pairs with announce_sleep() of the last worker
            word_.fetch_sub(one_sleeping, seq_cst);
            return true;
        }
        return false;
    }

    /// Claims the last worker to fall asleep, unless one searches already.
    std::optional<unsigned> claim_sleeper() noexcept {
        const lock_guard guard(lock_);
        if (sleepers_.empty() || enough_awake() || !count_as_searching()) return std::nullopt;
        const auto worker = sleepers_.back();
        sleepers_.pop_back();
        return worker;
    }

    /// Claims the worker that has slept longest, but not `worker`, unless one searches already.
    std::optional<unsigned> claim_sleeper_but(unsigned worker) noexcept {
        const lock_guard guard(lock_);
        const auto other = std::find_if(sleepers_.begin(), sleepers_.end(), [&](unsigned s) { return s != worker; });
        if (other == sleepers_.end() || enough_awake() || !count_as_searching()) return std::nullopt;
        const auto claimed = *other;
        sleepers_.erase(other);
        return claimed;
    }

    /// Any thread. \returns whether to wake a sleeper now, as if work came from outside.
    [[nodiscard]] bool allow(unsigned awake) noexcept {
        const lock_guard guard(lock_);
        const auto before = most_.load(relaxed);
        most_.store(awake, relaxed);
        return awake > before;
    }
    /// Exact for a worker that has announced itself (IDLE_SET-7), and under lock_; else a hint.
    bool enough_awake() const noexcept { return awake() >= most_.load(relaxed); }
    bool too_many_awake() const noexcept { return awake() > most_.load(relaxed); }  // a hint

    bool anybody_searches() const noexcept { return searching(word_.load(relaxed)) != 0; }  // hints
    unsigned sleeping_count() const noexcept { return sleeping(word_.load(relaxed)); }

private:
    static constexpr std::uint32_t one_searching = 1, one_sleeping = 1u << 16;
    static std::uint32_t searching(std::uint32_t w) noexcept { return w & 0xffff; }
    // A sleeper that is being claimed searches from now on (IDLE_SET-4), unless one does already.
    bool count_as_searching() noexcept WEFT_REQUIRES(lock_) {
        auto now = word_.load(relaxed);
        do {
            // IDLE_SET-2 again: another waker was faster
            if (searching(now) != 0) return false;
        // IDLE_SET-4; pairs with end_search() and announce_sleep()
        } while (!word_.compare_exchange_weak(now, now + one_searching - one_sleeping, seq_cst, relaxed));
        return true;
    }
    static std::uint32_t sleeping(std::uint32_t w) noexcept { return w >> 16; }
    unsigned awake() const noexcept { return workers_ - sleeping_count(); }

    // Orders a worker's change of word_ before its looks at the queues. \returns whether these may
    // miss work, so that the monitor must be told (IDLE_SET-8).
    bool order_looks(unsigned others_asleep, bool is_watched) const noexcept {
        const bool is_alone = others_asleep + 1 == workers_;
        if (!is_alone && !is_watched) {
            heavy_fence();  // pairs with the light fence in lacks_searcher()
            return false;
        }
        // IDLE_SET-6, IDLE_SET-8; pairs with the fence of a thread that is not a worker, and with
        // that of monitor::sleep_until()
        fence(seq_cst);
        return !is_alone;
    }

    alignas(64) atomic<std::uint32_t> word_{0};
    const unsigned workers_;
    atomic<unsigned> most_;  // IDLE_SET-7
    spin_lock lock_;
    // reserved by the constructor: never allocates later
    std::vector<unsigned> sleepers_ WEFT_GUARDED_BY(lock_);
};

}  // namespace weft::detail

// tenure.hpp - a carrier's tenure of its worker: a biased lock. The carrier uses the worker's data for two plain stores and a
// load per visit; a thief may borrow them, and the monitor may take the worker away for another carrier (hand-off).
//
// The two words belong to the carrier and not to the worker: one that has lost its worker stores inside_ once more before it
// can know. Whoever seeks the holder of a worker finds the tenure through a pointer in the worker, calls, and is told whose
// call it is (T4): the pointer may be stale, the answer is not.
//
//  call_      meaning                                        leaves by (o: the carrier, t: a thief, m: the monitor, g: a giver)
//  none       held; nobody calls                             t ask -> asked | m demand -> demanded | o give_up -> lost
//  answered   held; the worker's tray is full for the thief  t collected -> none
//  asked      held; a thief wants fibers                     o -> answering | t withdraw -> none | t overrule -> borrowed
//  answering  held; the carrier fills the tray               o -> answered
//  borrowed   held; the thief is inside                      t give_back -> none
//  demanded   held; the monitor wants the worker             o refuse -> none | o concede -> conceded | m withdraw -> none
//                                                            | m look -> lost
//  conceded   the monitor's, which has yet to look           m look, m withdraw -> lost | o reclaim -> none
//  lost       the carrier has no worker                      g grant -> none | g summon -> summoned | g dismiss -> dismissed
//  summoned   the same, but it is not to wait for one        o await_grant -> lost
//  dismissed  and gets none any more: its thread ends        -
//
// A carrier that waits in vain may give up by itself, once it is no longer registered: its thread ends, `lost` stays, and the next
// thread of the same carrier finds the tenure as a new one has it.
//
// Invariants
//   T1  The worker's data belong to one at a time: to the carrier while inside_ is 1 and it has since read a call_ below
//       `asked`, made it `answering`, refused or reclaimed, or was granted; to the thief while `borrowed`; to the monitor, or the
//       carrier that gave up, from `lost` until the grant. asked -> borrowed and demanded -> lost happen only after a heavy fence
//       behind the call has been followed by reading inside_ == 0. (Dekker: the carrier stores inside_, light fence, reads
//       call_.) While it runs no fiber, what no thief borrows is the carrier's outside of visits too: the monitor asks (look()).
//   T2  Every change from `none`, `asked`, `demanded` and `conceded` is a compare-exchange, so of refusing, conceding,
//       answering, withdrawing, overruling and taking exactly one happens.
//   T3  Only `none` can be called. A thief's call ends by the thief alone, and there is one monitor, so what either expects in
//       its exchange is its own call and no later one. (Two intruders that share a value break T1; model: SHARED.)
//   T4  worker_ is written by grant() only, while nobody but the giver may touch it. So it stays while a call stands, and who
//       calls may read it from then on, but not once its call has ended: the next grant may come at once.
//   T5  After `lost` its maker touches nothing of the tenure but to grant, summon or dismiss, once, a carrier that has registered
//       as waiting; which it does inside, and after reclaim() has failed or its give_up() succeeded.
//   T6  A demand that has met inside_ == 1 may be left standing and looked at again without another fence: an entry before
//       the fence is visible, one after it sees the demand.
//   T7  Tenures are never destroyed while the runtime lives.
//
// What is lost by taking away each fence and order: tests/model/tenure_model.cpp (this code), tests/model/hand_off.pml (the
// protocol with its liveness), tests/sched/tenure_test.cpp (this machine). What the runtime makes of it: docs/design/handoff.md.
#pragma once

#include <cstdint>
#include <optional>

#include "base/atomic.hpp"
#include "base/futex.hpp"
#include "base/panic.hpp"

namespace weft::detail {

/// What a carrier does that enters and finds a demand: go on, since its fiber gives the worker up by itself, or do without it.
enum class on_demand : std::uint8_t { refuse, concede };

enum class cause_of_loss : std::uint8_t { computing, blocked };

/// Worker has `void fill_tray()`, which puts into its tray what a thief shall have.
template <class Worker>
class tenure {
public:
    /// Held from the start, or without a worker and inside.
    constexpr explicit tenure(Worker* w) noexcept : inside_(w ? 0 : 1), call_(w ? none : lost), worker_(w) {}
    tenure(const tenure&) = delete;
    tenure& operator=(const tenure&) = delete;

    class holder;
    class thief;
    class taker;
    class giver;

    /// Waits until the carrier has been seen outside, or without a worker. Not for itself, and after a heavy fence.
    void await_outside() const noexcept {
        constexpr int spin_turns = 100;  // chosen: visits are short, unless the carrier has lost its core
        for (int turns = 0; inside_.load(acquire) != 0 && call_.load(acquire) < conceded;
             ++turns)  // pairs with leave(), give_up()
            turns < spin_turns ? cpu_relax() : thread_yield();
    }

    /// Any thread: a hint.
    bool has_worker_hint() const noexcept { return call_.load(relaxed) < lost; }

private:
    // From `asked` on the carrier must attend.
    enum state : std::uint32_t { none, answered, asked, answering, borrowed, demanded, conceded, lost, summoned, dismissed };

    bool change(std::uint32_t& expected, state next, memory_order order) noexcept {
        return call_.compare_exchange_strong(expected, next, order, acquire);
    }

    atomic<std::uint32_t> inside_;
    futex_word call_;
    plain<Worker*> worker_;  // T4
    atomic<cause_of_loss> why_{cause_of_loss::computing};  // written by the monitor before it demands
};

/// The carrier's half.
template <class Worker>
class tenure<Worker>::holder {
public:
    explicit holder(tenure& t) noexcept : t_(t) {}

    /// \returns whether it has its worker. If not, it is inside all the same, and may leave.
    [[gnu::always_inline]] bool enter(on_demand what = on_demand::refuse) noexcept { return try_enter() || attend(what); }
    /// Its fast half. False: it is inside, but attend() must follow.
    [[gnu::always_inline]] bool try_enter() noexcept {
        t_.inside_.store(1, relaxed);
        light_fence();  // pairs with the heavy fence of thief and monitor
        return t_.call_.load(acquire) < asked;  // pairs with the release that ends a call: who borrowed has left
    }
    /// Its slow half. \returns as enter()
    bool attend(on_demand what) noexcept { return attend(t_, t_.call_.load(acquire), what); }  // as above
    void leave() noexcept { t_.inside_.store(0, release); }  // pairs with the acquire of who looks: the worker's data
    bool is_inside() const noexcept { return t_.inside_.load(relaxed) != 0; }  // own store

    /// Inside.
    bool has_worker() const noexcept { return t_.call_.load(relaxed) < conceded; }  // inside, only its own change could end that

    /// While it has one. Its own: nobody writes it meanwhile (T4).
    Worker& worker() const noexcept { return *t_.worker_.get(); }

    /// Inside: gives the worker up, which is the caller's to grant. False: somebody calls, and has to be done with it first.
    bool give_up() noexcept {
        std::uint32_t c = none;
        return t_.change(c, lost, acq_rel);  // acquire: who called before has read worker_; release: for the next grant
    }
    /// Inside, without a worker: takes back what was conceded, unless the monitor has seen it.
    bool reclaim() noexcept {
        std::uint32_t c = conceded;
        return t_.change(c, none, release);  // so that who calls next may read worker_
    }
    /// Without a worker: what runs next has not lost it by computing.
    void forgive() noexcept { t_.why_.store(cause_of_loss::blocked, relaxed); }  // nobody demands
    /// Without a worker: why the monitor wanted it.
    cause_of_loss why() const noexcept { return t_.why_.load(relaxed); }  // ordered by `lost`
    /// Whether the monitor has yet to see that the worker is its own: then it should be woken.
    bool has_conceded() const noexcept { return t_.call_.load(relaxed) == conceded; }  // own store, or the monitor's answer to it

    enum class awaited { granted, summoned, dismissed, nothing };
    /// Inside, without a worker and registered (T5): sleeps until somebody says how it goes on. `nothing`: nobody has by `until`.
    awaited await_grant(std::optional<monotonic_ns> until = std::nullopt) noexcept {
        for (;;) {
            const auto c = t_.call_.load(acquire);  // pairs with end_wait()
            if (c == dismissed) return awaited::dismissed;
            if (c == summoned) {
                t_.call_.store(lost, relaxed);  // nobody else changes it before it has registered again (T5)
                return awaited::summoned;
            }
            if (c != lost) return awaited::granted;
            if (futex_wait(t_.call_, lost, until) == futex_result::timed_out) return awaited::nothing;
        }
    }

private:
    [[gnu::noinline, gnu::cold]] static bool attend(tenure& t, std::uint32_t c, on_demand what) noexcept {
        for (int turns = 0; c >= asked;) {
            switch (c) {
                case asked:
                    if (!t.change(c, answering, acquire)) break;  // T2
                    t.worker_.get()->fill_tray();
                    t.call_.store(answered, release);  // pairs with the acquire in answered()
                    return true;
                case demanded:  // release: all it has done with the worker, for the monitor or who calls next
                    if (t.change(c, what == on_demand::refuse ? none : conceded, acq_rel)) return what == on_demand::refuse;
                    break;
                case borrowed:
                    turns++ < 100 ? cpu_relax() : thread_yield();  // chosen: it moves 64 pointers at most, or lost its core
                    c = t.call_.load(acquire);  // pairs with give_back()
                    break;
                default: return false;
            }
        }
        return true;
    }

    tenure& t_;
};

/// A worker that wants another's fibers: one at a time (T3). It must end its call itself: collected(), withdraw(), give_back().
template <class Worker>
class tenure<Worker>::thief {
public:
    explicit thief(tenure& t) noexcept : t_(t) {}

    /// \returns the worker called, or null: another calls already, or there is none.
    Worker* ask() noexcept {
        std::uint32_t c = none;
        // acquire: who called before is done, who granted has written worker_
        return t_.call_.load(relaxed) == none && t_.change(c, asked, acquire) ? t_.worker_.get() : nullptr;
    }
    bool answered() const noexcept { return t_.call_.load(acquire) == tenure::answered; }  // pairs with attend()
    /// After answered(), when the tray has been emptied.
    void collected() noexcept { t_.call_.store(none, release); }  // pairs with ask(), demand() and enter()

    /// Takes the call back. False: the carrier is answering.
    bool withdraw() noexcept {
        std::uint32_t c = asked;
        return t_.change(c, none, release);
    }

    enum class outcome { borrowed, busy, answering };
    /// Borrows the worker's data from a carrier that does not come by. `busy`: it is inside now, the call stands.
    outcome overrule() noexcept {
        heavy_fence();  // pairs with the light fence in enter()
        if (t_.inside_.load(acquire) != 0) return outcome::busy;  // pairs with leave()
        std::uint32_t c = asked;
        return t_.change(c, tenure::borrowed, acquire) ? outcome::borrowed : outcome::answering;  // T2
    }
    void give_back() noexcept { t_.call_.store(none, release); }  // pairs with attend(), ask() and demand()

private:
    tenure& t_;
};

/// The monitor: demands, one heavy_fence() for all of a round's demands, looks.
template <class Worker>
class tenure<Worker>::taker {
public:
    explicit taker(tenure& t) noexcept : t_(t) {}

    /// \returns the worker demanded, or null: a thief calls, or there is none.
    Worker* demand(cause_of_loss why = cause_of_loss::computing) noexcept {
        t_.why_.store(why, relaxed);  // published by the exchange; nobody asks why while there is a worker
        std::uint32_t c = none;
        return t_.change(c, demanded, acq_rel) ? t_.worker_.get() : nullptr;  // acquire: as ask()
    }

    enum class outcome { taken, refused, standing };
    /// After a heavy fence behind demand(). `taken`: the worker is the monitor's. `refused`: the demand is over. `standing`: the
    /// carrier is inside, or runs no fiber; look again (T6) or withdraw.
    /// A carrier that uses its worker outside of visits, as in the idle loop, says so by what `runs_fiber` reads, which it writes on
    /// visits only; it is asked between the look and the take, so that the take proves that it still holds.
    template <class RunsFiber>
    outcome look(const RunsFiber& runs_fiber) noexcept {
        auto c = t_.call_.load(acquire);  // pairs with the carrier's concession
        if (c == demanded) {
            if (t_.inside_.load(acquire) != 0 || !runs_fiber()) return outcome::standing;  // pairs with leave()
            if (t_.change(c, lost, acq_rel)) return outcome::taken;  // T2; release: for the next grant (T4)
        }
        return fetch(c);
    }
    outcome look() noexcept {
        return look([] { return true; });
    }

    /// Takes the demand back; `taken` if the carrier has conceded meanwhile, else `refused`.
    outcome withdraw() noexcept {
        std::uint32_t c = demanded;
        return t_.change(c, none, release) ? outcome::refused : fetch(c);
    }

private:
    outcome fetch(std::uint32_t c) noexcept {
        return c == conceded && t_.change(c, lost, acq_rel) ? outcome::taken : outcome::refused;
    }

    tenure& t_;
};

/// Who has a worker to give, and has removed a carrier from those that wait (T5).
template <class Worker>
class tenure<Worker>::giver {
public:
    explicit giver(tenure& t) noexcept : t_(t) {}

    void grant(Worker& w) noexcept {
        t_.worker_.set(&w);
        end_wait(none);
    }
    /// It is to look for other work than a worker's.
    void summon() noexcept { end_wait(summoned); }
    /// Its thread ends.
    void dismiss() noexcept { end_wait(dismissed); }

private:
    void end_wait(state next) noexcept {
        require(t_.call_.load(relaxed) == lost, "T5: only a carrier that waits is granted a worker");  // it has registered since
        t_.call_.store(next, release);  // pairs with await_grant(), ask() and demand()
        futex_wake(t_.call_, 1);
    }

    tenure& t_;
};

}  // namespace weft::detail

// tenure.hpp - a carrier's tenure of its worker: a lock biased to the carrier.
//
// The carrier may use the worker's data at the price of two plain stores and a load per visit. A
// thief may borrow them, and the monitor may take the worker away for another carrier (hand-off).
//
// The two words, inside_ and call_, belong to the carrier and not to the worker: a carrier that has
// lost its worker stores inside_ once more before it can know. A caller finds the tenure through a
// pointer in the worker, calls, and is told which worker it has called (TENURE-4): the pointer may
// be stale, the answer is not.
//
// States of call_. o: the carrier (the owner), t: a thief, m: the monitor, g: a giver.
//
//  call_      meaning                                leaves by
//  none       held; no call stands                   t ask -> asked | m demand -> demanded
//                                                    | o give_up -> lost
//  answered   held; the batch is full for the thief   t collected -> none
//  asked      held; a thief wants fibers             o -> answering | t withdraw -> none
//                                                    | t overrule -> borrowed
//  answering  held; the carrier fills the batch       o -> answered
//  borrowed   held; the thief is inside              t give_back -> none
//  demanded   held; the monitor wants the worker     o refuse -> none | o concede -> conceded
//                                                    | m withdraw -> none | m look -> lost
//  conceded   given up; the monitor has yet to look  m look, m withdraw -> lost | o reclaim -> none
//  lost       no worker; the carrier may wait        g grant -> none | g summon -> summoned
//                                                    | g dismiss -> dismissed
//  summoned   no worker; it shall not wait           o await_grant -> lost
//  dismissed  no worker for good; its thread ends    -
//
// A carrier that waits long in vain may unregister, and its thread ends (CARRIER_POOL-3):
// `lost` stays, and the next thread of the same carrier finds the tenure as that of a new carrier.
//
// Invariants
//   TENURE-1  The worker's data belong to one party at a time. They belong to the carrier while
//             inside_ is 1 and it has since read a call_ below `asked`, made it `answering`,
//             refused or reclaimed, or was granted; to the thief while `borrowed`; to the monitor,
//             or the carrier that gave up, from `lost` until the grant. The changes asked ->
//             borrowed and demanded -> lost happen only after a heavy fence behind the call,
//             followed by a read of inside_ == 0. (Dekker: the carrier stores inside_, light fence,
//             reads call_.) While it runs no fiber, the carrier also uses, outside of visits, those
//             data that thieves never borrow. So the monitor takes a worker only from a carrier
//             that runs a fiber (look()).
//   TENURE-2  Every change from `none`, `asked`, `demanded` and `conceded` is a compare-exchange,
//             so exactly one of refusing, conceding, answering, withdrawing, overruling and taking
//             happens.
//   TENURE-3  Only `none` can be called. Only the thief ends its call, and there is one monitor, so
//             the value that either expects in its exchange is its own call and no later one. (Two
//             intruders that share a value break TENURE-1; shown by the variant SHARED of
//             tests/model/hand_off.pml.)
//   TENURE-4  worker_ is written by grant() only, while only the giver may touch it. So it does not
//             change while a call stands, and a caller may read it from then on, but not after its
//             call has ended: the next grant may come at once.
//   TENURE-5  Between two registrations of a carrier as waiting, exactly one grant, summon or
//             dismiss is called on it, and none before it has registered. A carrier made without a
//             worker counts as registered from the start. Any other carrier registers
//             during a visit, after it has lost its worker for certain: its reclaim() has failed,
//             or its give_up() has succeeded.
//   TENURE-6  A demand that has met inside_ == 1 may be left standing and looked at again without
//             another fence: an entry before the fence is visible, and an entry after it sees the
//             demand.
//   TENURE-7  Tenures are never destroyed while the runtime lives.
//
// tests/model/tenure_model.cpp (this code), tests/model/hand_off.pml (the protocol with its
// liveness) and tests/sched/tenure_test.cpp (this machine) show what breaks without each fence and
// order. docs/design/handoff.md says how the runtime uses the protocol.
#pragma once

#include <cstdint>
#include <optional>

#include "base/atomic.hpp"
#include "base/futex.hpp"
#include "base/panic.hpp"

namespace weft::detail {

/// What a carrier does that enters and finds a demand. refuse: it keeps the worker, since its fiber
/// is about to give it up by itself. concede: it goes on without the worker.
enum class on_demand : std::uint8_t { refuse, concede };

enum class cause_of_loss : std::uint8_t { computing, blocked };

/// Worker has `void fill_batch()`, which puts the fibers for a thief into the worker's batch.
template <class Worker>
class tenure {
public:
    /// Starts with the worker `w` and outside, or (null) without a worker and inside.
    constexpr explicit tenure(Worker* w) noexcept : inside_(w ? 0 : 1), call_(w ? none : lost), worker_(w) {}
    tenure(const tenure&) = delete;
    tenure& operator=(const tenure&) = delete;

    class holder;
    class thief;
    class taker;
    class giver;

    /// Waits until the carrier has been seen outside, or without a worker. Call it after a heavy
    /// fence, and not on the carrier itself.
    void await_outside() const noexcept {
        // chosen: visits are short, unless the carrier has lost its core
        constexpr int spin_turns = 100;
        // The acquires pair with leave() and give_up().
        for (int turns = 0; inside_.load(acquire) != 0 && call_.load(acquire) < conceded; ++turns)
            turns < spin_turns ? cpu_relax() : thread_yield();
    }

    /// Any thread: a hint.
    bool has_worker_hint() const noexcept { return call_.load(relaxed) < lost; }

private:
    // From `asked` on the carrier must call attend(): the order of the values matters.
    enum state : std::uint32_t { none, answered, asked, answering, borrowed, demanded, conceded, lost, summoned, dismissed };

    bool change(std::uint32_t& expected, state next, memory_order order) noexcept {
        // The acquire of a failure pairs with the change that is found instead.
        return call_.compare_exchange_strong(expected, next, order, acquire);
    }

    atomic<std::uint32_t> inside_;
    futex_word call_;
    plain<Worker*> worker_;  // TENURE-4
    // Written by the monitor before it demands.
    atomic<cause_of_loss> why_{cause_of_loss::computing};
};

/// The carrier's half: it enters for each visit, and attends to calls when it does.
template <class Worker>
class tenure<Worker>::holder {
public:
    explicit holder(tenure& t) noexcept : t_(t) {}

    /// \returns whether it has its worker. If not, it is inside all the same, and may leave.
    [[gnu::always_inline]] bool enter(on_demand what = on_demand::refuse) noexcept { return try_enter() || attend(what); }
    /// The fast half of enter(). False: the carrier is inside, but attend() must follow.
    [[gnu::always_inline]] bool try_enter() noexcept {
        t_.inside_.store(1, relaxed);
        light_fence();  // pairs with the heavy fence of thief and monitor
        // Pairs with the release that ends a call, as in give_back().
        return t_.call_.load(acquire) < asked;
    }
    /// The slow half of enter(). \returns whether the carrier has its worker. The acquire pairs
    /// with the release that ends a call.
    bool attend(on_demand what) noexcept { return attend(t_, t_.call_.load(acquire), what); }
    /// Ends the visit. The release publishes the worker's data; it pairs with the acquire of a
    /// thief or the monitor that looks.
    void leave() noexcept { t_.inside_.store(0, release); }
    bool is_inside() const noexcept { return t_.inside_.load(relaxed) != 0; }  // own store

    /// Inside: whether it has its worker. There, only the carrier's own change can end that.
    bool has_worker() const noexcept { return t_.call_.load(relaxed) < conceded; }

    /// While it has a worker: returns it. No other thread writes worker_ meanwhile (TENURE-4).
    Worker& worker() const noexcept { return *t_.worker_.get(); }

    /// Inside: gives the worker up; the caller must grant it. False: a thief or the monitor calls,
    /// and its call must end first. The runtime gives no worker up unasked today; tests do, to have
    /// a carrier without one.
    bool give_up() noexcept {
        std::uint32_t c = none;
        // acquire pairs with the end of the previous call, whose caller has read worker_; release:
        // for the next grant
        return t_.change(c, lost, acq_rel);
    }
    /// Inside, without a worker: takes back a conceded worker, unless the monitor has seen it.
    bool reclaim() noexcept {
        std::uint32_t c = conceded;
        // pairs with ask() and demand(), so that the next caller may read worker_
        return t_.change(c, none, release);
    }
    /// Without a worker: notes that the fiber which runs next has not lost it by computing.
    void forgive() noexcept { t_.why_.store(cause_of_loss::blocked, relaxed); }  // no demand stands
    /// Without a worker: why the monitor wanted it.
    cause_of_loss why() const noexcept { return t_.why_.load(relaxed); }  // ordered by `lost`
    /// Whether the monitor has yet to see that it may take the worker: then it should be woken.
    /// Reads the carrier's own store, or the monitor's answer to it.
    bool has_conceded() const noexcept { return t_.call_.load(relaxed) == conceded; }

    enum class awaited { granted, summoned, dismissed, nothing };
    /// Inside, without a worker and registered (TENURE-5): sleeps until a giver grants, summons or
    /// dismisses. `nothing`: none did so by `until`.
    awaited await_grant(std::optional<monotonic_ns> until = std::nullopt) noexcept {
        for (;;) {
            const auto c = t_.call_.load(acquire);  // pairs with end_wait()
            if (c == dismissed) return awaited::dismissed;
            if (c == summoned) {
                // No giver changes it before it has registered again (TENURE-5).
                t_.call_.store(lost, relaxed);
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
                    // TENURE-2; pairs with collected(), through the exchange in ask()
                    if (!t.change(c, answering, acquire)) break;
                    t.worker_.get()->fill_batch();
                    t.call_.store(answered, release);  // pairs with the acquire in answered()
                    return true;
                case demanded:
                    // acquire pairs with demand(); release pairs with look(), ask() and demand():
                    // publishes the worker's data, for the monitor or the next caller
                    if (t.change(c, what == on_demand::refuse ? none : conceded, acq_rel)) return what == on_demand::refuse;
                    break;
                case borrowed:
                    // chosen: the thief moves 64 pointers at most, or has lost its core
                    turns++ < 100 ? cpu_relax() : thread_yield();
                    c = t.call_.load(acquire);  // pairs with give_back()
                    break;
                default: return false;
            }
        }
        return true;
    }

    tenure& t_;
};

/// The thief's half: a worker that wants fibers of another; one thief at a time (TENURE-3). The
/// thief must end its call itself, by collected(), withdraw() or give_back().
template <class Worker>
class tenure<Worker>::thief {
public:
    explicit thief(tenure& t) noexcept : t_(t) {}

    /// \returns the worker called, or null: another call stands already, or there is no worker.
    Worker* ask() noexcept {
        std::uint32_t c = none;
        // acquire pairs with the end of the previous call and with end_wait(): that caller is done,
        // and the giver has written worker_
        return t_.call_.load(relaxed) == none && t_.change(c, asked, acquire) ? t_.worker_.get() : nullptr;
    }
    // Pairs with attend().
    bool answered() const noexcept { return t_.call_.load(acquire) == tenure::answered; }
    /// Ends the call. Called after answered(), when the batch has been emptied. Pairs with ask(),
    /// demand() and enter().
    void collected() noexcept { t_.call_.store(none, release); }

    /// Takes the call back. False: the carrier is answering.
    bool withdraw() noexcept {
        std::uint32_t c = asked;
        return t_.change(c, none, release);  // pairs with ask() and demand()
    }

    enum class outcome { borrowed, busy, answering };
    /// Borrows the worker's data from a carrier that does not enter. `busy`: the carrier is inside
    /// now; the call stands.
    outcome overrule() noexcept {
        heavy_fence();  // pairs with the light fence in enter()
        if (t_.inside_.load(acquire) != 0) return outcome::busy;  // pairs with leave()
        std::uint32_t c = asked;
        // TENURE-2; pairs with the end of the previous call
        return t_.change(c, tenure::borrowed, acquire) ? outcome::borrowed : outcome::answering;
    }
    // Pairs with attend(), ask() and demand().
    void give_back() noexcept { t_.call_.store(none, release); }

private:
    tenure& t_;
};

/// The monitor's half: it demands, passes one heavy_fence() for all demands of a round, and looks.
template <class Worker>
class tenure<Worker>::taker {
public:
    explicit taker(tenure& t) noexcept : t_(t) {}

    /// \returns the worker demanded, or null: a thief's call stands, or there is no worker.
    Worker* demand(cause_of_loss why = cause_of_loss::computing) noexcept {
        // Published by the exchange; why() is not asked while there is a worker.
        t_.why_.store(why, relaxed);
        std::uint32_t c = none;
        // acquire as in ask(); release pairs with attend()
        return t_.change(c, demanded, acq_rel) ? t_.worker_.get() : nullptr;
    }

    enum class outcome { taken, refused, standing };
    /// Called after a heavy fence behind demand(). `taken`: the worker is the monitor's. `refused`:
    /// the demand is over. `standing`: the carrier is inside, or runs no fiber; look again
    /// (TENURE-6) or withdraw.
    ///
    /// A carrier that uses its worker outside of visits, as in the idle loop, shows that by what
    /// `runs_fiber` reads, which it writes on visits only. look() asks `runs_fiber` between its
    /// read of inside_ and the exchange that takes, so the exchange proves that the answer still
    /// holds.
    template <class RunsFiber>
    outcome look(const RunsFiber& runs_fiber) noexcept {
        auto c = t_.call_.load(acquire);  // pairs with the carrier's concession
        if (c == demanded) {
            // Pairs with leave().
            if (t_.inside_.load(acquire) != 0 || !runs_fiber()) return outcome::standing;
            // TENURE-2, TENURE-4; release pairs with attend() and await_grant(), for the next grant
            if (t_.change(c, lost, acq_rel)) return outcome::taken;
        }
        return fetch(c);
    }
    outcome look() noexcept {
        return look([] { return true; });
    }

    /// Takes the demand back. \returns `taken` if the carrier has conceded, else `refused`.
    outcome withdraw() noexcept {
        std::uint32_t c = demanded;
        // pairs with ask() and demand()
        return t_.change(c, none, release) ? outcome::refused : fetch(c);
    }

private:
    outcome fetch(std::uint32_t c) noexcept {
        // acquire pairs with attend(), which conceded; release as in look()
        return c == conceded && t_.change(c, lost, acq_rel) ? outcome::taken : outcome::refused;
    }

    tenure& t_;
};

/// The giver's half: a thread that has a worker to give and has removed a carrier from the
/// registered ones (TENURE-5).
template <class Worker>
class tenure<Worker>::giver {
public:
    explicit giver(tenure& t) noexcept : t_(t) {}

    void grant(Worker& w) noexcept {
        t_.worker_.set(&w);
        end_wait(none);
    }
    /// Makes the carrier look for other fibers to run: demoted or pinned ones.
    void summon() noexcept { end_wait(summoned); }
    /// Makes the carrier's thread end.
    void dismiss() noexcept { end_wait(dismissed); }

private:
    void end_wait(state next) noexcept {
        // relaxed: registering orders it
        require(t_.call_.load(relaxed) == lost, "TENURE-5: only a carrier that waits is granted a worker");
        t_.call_.store(next, release);  // pairs with await_grant(), ask() and demand()
        futex_wake(t_.call_, 1);
    }

    tenure& t_;
};

}  // namespace weft::detail

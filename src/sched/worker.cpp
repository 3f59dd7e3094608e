// worker.cpp - a worker's poll, the classes of its fibers, and its surplus (WORKER-3, WORKER-4).
#include "sched/worker.hpp"

#include "sched/scheduler.hpp"
#include "sched/simulate/simulator.hpp"
#include "sched/worker_inline.hpp"

namespace weft::detail {
namespace {

// chosen: a look costs about 200 ns, under 1 ns per dispatch
constexpr std::uint32_t poll_every_most = 256;
// required: how often a busy worker looks at its timers and I/O
constexpr auto poll_aim = std::chrono::microseconds(100);
// chosen: about 30 us; a worker that never idles gives back one part per poll_aim
constexpr std::size_t trim_at_once = 16;

}  // namespace

worker::worker(scheduler& owner, unsigned index)
    : owner_(owner),
      index_(index),
      alone_(owner.options().workers == 1),
      poll_at_(poll_every_most),
      poll_every_(poll_every_most),
      coarse_now_(coarse(clock::now())),
      next_poll_(poll_every_most),
      seen_(owner.options().workers),
      stacks_(owner.stacks()),
      last_poll_(clock::now().time_since_epoch().count()) {
    if (!owner.simulated()) return;
    state_.attend_classes();  // for good, so that each pick() goes to the simulator (WORKER-3)
    poll_at_.store(0, relaxed);
    next_poll_.store(~std::uint64_t{0}, relaxed);
}

worker::~worker() = default;

// \returns a fiber that is pinned to the carrier if it is the turn of one, else null (PINNED-4). If
// one went last the others go first, since a poll may come before each pick.
[[gnu::always_inline]] inline control_block* worker::pick_pinned() noexcept {
    if (state_.pinned_went_last() && state_.pinned_has_turn() && has_work()) {
        state_.put_pinned_off();
        return nullptr;
    }
    auto* const f = state_.pinned_has_turn() ? this_carrier()->pinned().pop() : nullptr;
    state_.end_pinned_turn(f ? worker_state::went::yes : worker_state::went::no);
    return f;
}

// A worker that runs any fiber may stay away from its timers for long, so it wakes a leader that
// would oversleep them; one that runs none looks at that when it goes to sleep.
control_block* worker::attend_news() noexcept {
    if (auto* const s = owner_.simulated()) return s->pick(*this);
    if (state_.drains()) {
        give_all_away();
        return nullptr;
    }
    state_.read_news();
    auto* const pinned = pick_pinned();
    if ((pinned || has_work()) && !alone_ && owner_.the_lead().oversleeps(timers_.earliest())) {
        if (needs_help(pinned ? 1 : 0))
            owner_.io().wake();
        else
            owner_.the_monitor().somebody_runs();  // BURST-3
    }
    return pinned || !state_.has_classes() ? pinned : pick_by_class();
}

// ---- classes (WORKER-3)

void worker::poll_before_pick() noexcept {
    if (ticks_.load(relaxed) >= next_poll_.load(relaxed)) poll();
}

bool worker::attend() noexcept {
    if (owner_.simulated()) return true;
    poll_before_pick();
    if (state_.drains()) return true;
    if (!state_.has_classes()) return state_.pinned_has_turn();
    turns_.charge(ticks_.load(relaxed));
    auto ready = ready_here();
    ready.add(turns_.turn());  // the class of the caller
    return state_.pinned_has_turn() || turns_.choose(ready) != turns_.turn();
}

ready_classes worker::ready_here() const noexcept {
    ready_classes ready;
    ready.add(priority::high, !high_.empty());
    ready.add(priority::normal, !queue_.empty());
    ready.add(priority::low, !low_.empty());
    return ready;
}

// \returns null if the turn is that of the normal class: then pick() pops queue_.
control_block* worker::pick_by_class() noexcept {
    turns_.charge(ticks_.load(relaxed));
    const auto ready = ready_here();
    if (ready.only(priority::low) && state_.seeks_better()) return nullptr;
    state_.seek_no_more();
    const auto p = ready.none() ? priority::normal : turns_.choose(ready);
    turns_.give(p);
    const auto next_poll = next_poll_.load(relaxed);
    if (ready.none() || ready.only(priority::normal)) {
        state_.end_classes();
        poll_at_.store(next_poll, relaxed);
    } else {
        poll_at_.store(p == priority::normal ? std::min(next_poll, ticks_.load(relaxed) + turns_.length()) : 0, relaxed);
    }
    return p == priority::normal ? nullptr : queue_of(p).pop();
}

control_block* worker::pick_after(control_block& spawner) noexcept {
    // Without news there are no fibers of another class (WORKER_STATE-1).
    if (!poll_if_due() && !state_.has_news() && queue_.take_last(spawner)) return &spawner;
    return pick();
}

control_block* worker::begin_with(control_block& f) noexcept {
    if (!state_.has_classes() && !f.is_classed()) return &f;
    append(f);
    return pick();
}

// The thief gets fibers of the highest class that has any. Of the highest class the owner is about
// to take one itself.
void worker::fill_batch() noexcept {
    bool is_highest = true;
    for (const auto p : class_turns::all) {
        if (queue_.fill_batch(queue_of(p), is_highest ? 1 : 0) != 0) return;
        is_highest = is_highest && queue_of(p).empty();
    }
}

std::uint32_t worker::take_half(control_block** out) noexcept {
    for (const auto p : class_turns::all)
        if (const auto n = queue_of(p).take_half(out)) return n;
    return 0;
}

// There is no memory for a longer queue. If the queue is empty, the fiber goes into its slot, which
// needs none; otherwise a worker that never had memory for a queue would take the fiber from the
// injector and put it back for ever.
void worker::overflow(control_block& f) noexcept {
    auto& mine = queue_of(f);
    if (mine.empty())
        static_cast<void>(mine.push_next(f));
    else
        owner_.injected().push(f);
}

void worker::wake_helper() noexcept {
    if (needs_help() || !owner_.injected().empty()) return owner_.wake_claimed();
    owner_.the_monitor().somebody_runs();  // BURST-3
}

void worker::poll() noexcept {
    take_in();
    const auto now = last_poll();
    burst_.poll(now, ticks_.load(relaxed), owner_.is_watched(), has_work() && owner_.thefts_pay(now));
    owner_.the_monitor().somebody_dispatches(now);
    if (owner_.idle().too_many_awake() && !this_carrier()->has_pinned()) [[unlikely]]
        return begin_drain();
    if (has_work()) notify();
}

void worker::begin_drain() noexcept {
    state_.begin_drain();
    poll_at_.store(0, relaxed);
}

// Keeps the fiber that calls this: it has queued itself to yield and is still on its stack. The
// next pick() here finds it.
void worker::give_all_away() noexcept {
    control_block* const here = this_carrier()->current();
    bool is_there = false;
    for (const auto p : class_turns::all)
        while (auto* const f = queue_of(p).pop()) {
            if (f == here)
                is_there = true;
            else
                owner_.injected().push(*f);
        }
    if (is_there) append(*here);
    notify();
}

void worker::has_polled_driver(time_point now) noexcept {
    driver_polled_at_ = now;
    driver_polled_ticks_ = ticks_.load(relaxed);
}

// A worker that wakes in the driver looks for work, and one that finds none polls before it sleeps in
// the driver: each time it has just polled, and has run nothing since. In a simulation no time passes
// meanwhile.
bool worker::has_just_polled_driver(time_point now) const noexcept {
    constexpr auto just = std::chrono::microseconds(5);  // chosen: longer than from one of these polls to the next
    return driver_polled_ticks_ == ticks_.load(relaxed) && now - driver_polled_at_ < just && !owner_.simulated();
}

// Looks at the worker's timers, the driver and the injector. How often it is called follows from
// how long bodies run (poll_every_).
void worker::take_in() noexcept {
    const auto now = clock::now();
    const auto elapsed = now - last_poll();
    if (elapsed > 2 * poll_aim && poll_every_ > 1) poll_every_ /= 2;
    if (elapsed < poll_aim / 2 && poll_every_ < poll_every_most) poll_every_ *= 2;
    // This may overwrite the monitor's request to poll (poll_soon()), which is carried out here.
    next_poll_.store(ticks_.load(relaxed) + poll_every_, relaxed);
    poll_at_.store(state_.has_classes() ? 0 : next_poll_.load(relaxed), relaxed);
    last_poll_.store(now.time_since_epoch().count(), relaxed);
    coarse_now_ = coarse(now);
    cpu_.store(placement::here(), relaxed);  // a hint

    const auto queued = queue_.size();
    state_.begin_taking_in();
    timers_.expire(now);
    if (owner_.the_lead().try_take()) {
        if (owner_.idle().sleeping_count() != 0) expire_timers_of(whose::sleepers, now);  // LEAD-3
        if (!has_just_polled_driver(now)) {
            take_in_driver();
            has_polled_driver(now);
        }
        if (owner_.the_lead().give_back()) owner_.wake_sleeper();  // LEAD-2: it can lead now
    }
    // What has become ready stands behind what was queued before.
    if (queue_.size() > queued) woken_until_.store(ticks_.load(relaxed) + queue_.size(), relaxed);  // a hint
    auto share = owner_.injected().size() / owner_.worker_count() + 1;
    for (constexpr std::size_t most = 32; share > most;) share = most;
    while (share-- > 0) {
        auto* const f = owner_.injected().pop();
        if (!f) break;
        enqueue(*f);
    }
    state_.end_taking_in();
    if (this_carrier()->has_pinned()) [[unlikely]]
        state_.give_pinned_turn();
    if (owner_.has_surplus() && now >= trim_at_) [[unlikely]] {
        trim_at_ = now + trim_at_once * poll_aim;
        owner_.trim(now, trim_at_once);
    }
    for (auto* const q : {&queue_, &high_, &low_}) q->trim();
    if (state_.has_classes() && !alone_ && now - sought_at_ > poll_aim) state_.seek_better();
}

void worker::take_in_driver() noexcept {
    // chosen: a poll of a busy server finds some 25, and fewer than 48 fibers are mostly still in the caches
    constexpr unsigned some = 8, many = 48;
    if (owner_.io().poll(long_past) > some && queue_.size() > many) queue_.fetch_ahead();
}

// Called with the lead: a worker that sleeps may rely on this one (LEAD-3).
void worker::expire_timers_of(whose of, time_point now) noexcept {
    for (unsigned i = 0; i < owner_.worker_count(); ++i)
        if (auto& other = owner_.worker_at(i);
            &other != this && other.unminded() <= now && (of == whose::everybody || other.asleep()))
            other.timers_.expire(now);
}

void worker::arm(timer& t, time_point when) noexcept {
    if (timers_.arm(t, when) && !alone_) state_.note_timer();
}

// A sleeping worker is woken, since it may sleep for longer; the leader and the searcher mind the
// timers of a busy one.
void worker::arm_from_outside(timer& t, time_point when) noexcept {
    if (!timers_.arm(t, when)) return;
    fence(seq_cst);  // pairs with the fences of a worker that is about to sleep
    wake();
    if (owner_.the_lead().oversleeps(when)) owner_.io().wake();
}

void worker::wake() noexcept { parker_.wake(owner_.io()); }

std::optional<unsigned> current_worker_index() noexcept {
    auto* const c = this_carrier();
    const worker* const w = c ? c->worker_hint() : nullptr;
    return w ? std::optional(w->index()) : std::nullopt;
}

}  // namespace weft::detail

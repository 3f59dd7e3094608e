#include "sched/worker.hpp"

#include "sched/scheduler.hpp"
#include "sched/worker_inline.hpp"

namespace weft::detail {
namespace {

constexpr std::uint32_t poll_every_most = 256;  // chosen: a look costs about 200 ns, under 1 ns per dispatch
constexpr auto poll_aim = std::chrono::microseconds(100);  // required: timers and I/O of a busy worker are looked at so often

}  // namespace

worker::worker(scheduler& owner, unsigned index)
    : owner_(owner),
      index_(index),
      alone_(owner.options().workers == 1),
      poll_at_(poll_every_most),
      poll_every_(poll_every_most),
      last_poll_(clock::now()),
      seen_(owner.options().workers),
      stacks_(owner.stacks()) {}

worker::~worker() = default;

// One fiber of the carrier's own, then the others have their turn (B4 of bound.hpp). If it runs one or the other it may stay away
// from its timers for long; else it minds them itself, asleep.
control_block* worker::attend_news() noexcept {
    has_news_ = false;
    auto* const bound = std::exchange(bound_has_turn_, false) ? this_carrier()->bound().pop() : nullptr;
    if ((bound || !queue_.empty()) && !alone_ && owner_.leader_oversleeps(timers_.earliest())) owner_.io().wake();
    return bound;
}

// No memory for a longer queue.
void worker::overflow(control_block& f) noexcept { owner_.injected().push(f); }

void worker::poll() noexcept {
    take_in();
    if (!queue_.empty()) notify();
}

// What a busy worker owes the rest: its timers, the injector, the driver. How often follows from how long bodies run.
void worker::take_in() noexcept {
    const auto now = clock::now();
    const auto elapsed = now - last_poll_;
    if (elapsed > 2 * poll_aim && poll_every_ > 1) poll_every_ /= 2;
    if (elapsed < poll_aim / 2 && poll_every_ < poll_every_most) poll_every_ *= 2;
    poll_at_.store(ticks_.load(relaxed) + poll_every_, relaxed);  // the monitor's order to poll may be overwritten: it is obeyed here
    last_poll_ = now;
    cpu_.store(placement::here(), relaxed);  // a hint

    taking_in_ = true;
    timers_.expire(now);
    if (owner_.try_lead()) {
        owner_.io().poll(long_past);
        if (owner_.end_lead()) owner_.wake_sleeper();  // who now has the driver to itself
    }
    auto share = owner_.injected().size() / owner_.worker_count() + 1;
    for (constexpr std::size_t most = 32; share > most;) share = most;
    while (share-- > 0) {
        auto* const f = owner_.injected().pop();
        if (!f) break;
        enqueue(*f);
    }
    taking_in_ = false;
    if (this_carrier()->has_bound()) [[unlikely]]
        has_news_ = bound_has_turn_ = true;
    if (owner_.has_surplus()) [[unlikely]]
        owner_.trim(now, 1);
    if (queue_.empty()) queue_.trim();
}

void worker::arm(timer& t, time_point when) noexcept {
    if (timers_.arm(t, when) && !alone_) has_news_ = true;
}

// Its timers are minded by itself if it sleeps, else by the leader and by who searches.
void worker::arm_from_outside(timer& t, time_point when) noexcept {
    if (!timers_.arm(t, when)) return;
    fence(seq_cst);  // pairs with the fences of who is about to sleep
    wake();
    if (owner_.leader_oversleeps(when)) owner_.io().wake();
}

void worker::wake() noexcept { parker_.wake(owner_.io()); }

std::optional<unsigned> current_worker_index() noexcept {
    auto* const c = this_carrier();
    const worker* const w = c ? c->worker_hint() : nullptr;
    return w ? std::optional(w->index()) : std::nullopt;
}

}  // namespace weft::detail

// simulator.cpp - draws the next fiber, lets simulated time pass, and ends runs (simulator.hpp).
#include "sched/simulate/simulator.hpp"

#include <weft/detail/annotated_locks.hpp>

#include <algorithm>

#include "base/in_quotes.hpp"
#include "base/never_destroyed.hpp"
#include "base/panic.hpp"
#include "base/virtual_clock.hpp"
#include "fiber/switch_point.hpp"
#include "sched/scheduler.hpp"
#include "sched/simulate/choice.hpp"
#include "sched/wait/wait_on.hpp"
#include "sched/worker_inline.hpp"

namespace weft::detail {

constinit atomic<bool> simulates{false};

namespace {

constexpr wait_kind rest_wait{.name = "rest of the simulation"};
constexpr wait_kind run_wait{.name = "end of a simulated run", .ends = ended_by::outside};

constexpr time_point beginning(std::chrono::hours(24));  // chosen: a program may subtract from it
// chosen: a fiber not unwound by then is kept for good
constexpr std::uint64_t least_steps_to_end = 100'000;
// chosen: switch_one_in is 1, 2, 4, 8 or 16
constexpr std::uint32_t halvings = 5;

std::optional<time_point> simulated_time() noexcept {
    const auto* const c = this_carrier();
    const auto* const s = c ? c->owner().simulated() : nullptr;
    return s ? std::optional(s->now()) : std::nullopt;
}

// A frame like those of with_deadline() whose deadline never passes. Because of it
// check_interrupt() always asks pending_interrupt(), which is a possible switch. It is never
// destroyed, since its destructor would take it off the calling fiber.
deadline_frame& endless() noexcept {
    static never_destroyed<deadline_frame> frame;
    return *frame;
}

std::string quoted(std::string_view name) { return name.empty() ? "unnamed" : in_quotes(name); }

}  // namespace

simulator::simulator(scheduler& owner, const simulation& options)
    : owner_(owner),
      options_(options),
      now_(beginning),
      most_steps_(options.max_steps != 0 ? options.max_steps : ~std::uint64_t{0}),
      trace_(options.seed) {
    ready_.reserve(64);
    endless();
    ask_for_time(simulated_time);
    simulates.store(true, relaxed);  // ordered before its fibers by the start of their thread
}

simulator::~simulator() = default;

void simulator::begin_thread() noexcept {
    seed_choices(options_.seed);
    one_in_ = options_.switch_one_in != 0 ? options_.switch_one_in : 1u << choose(halvings);
}

void simulator::begin(control_block& f) noexcept {
    f.cold().slot.deadlines = &endless();
    f.leave_trace();
    numbers_[&f] = ++begun_;
}

// ---- which fiber runs next

void simulator::gather(worker& w) {
    for (auto* const q : {&w.high_, &w.queue_, &w.low_})
        while (auto* const f = q->pop()) ready_.push_back(f);
}

control_block* simulator::pick(worker& w) noexcept {
    gather(w);  // in any case, since the worker would run fibers left in its queue
    if (!moves() || is_over()) return nullptr;
    extend_for_end();
    while (auto* const f = owner_.injected().pop()) ready_.push_back(f);
    if (w.timers_.earliest() <= now_) {
        w.timers_.expire(now_);
        gather(w);
    }
    if (ready_.empty()) return nullptr;
    const auto i = choose(static_cast<std::uint32_t>(ready_.size()));
    mix(ready_.size());
    count_step(i);
    if (!moves()) return nullptr;
    auto* const f = std::exchange(ready_[i], ready_.back());
    ready_.pop_back();
    return f;
}

bool simulator::is_switch() noexcept {
    const auto n = choose(one_in_);
    count_step(n);
    return n == 0 || !moves();
}

void simulator::count_step(std::uint64_t what) noexcept {
    mix(what);
    if (const auto most = 2 * options_.step.count(); most > 0) now_ += duration(choose(static_cast<std::uint32_t>(most) + 1));
    mix(static_cast<std::uint64_t>(now_.time_since_epoch().count()));
    if (++steps_ > most_steps_) fail(kind::too_long, "it has made as many steps as simulation::max_steps allows");
    if (!is_ending_ && options_.max_time != duration::zero() && now_ - beginning > options_.max_time)
        fail(kind::too_long, "it has lasted longer than simulation::max_time allows");
}

// ---- when no fiber can run

control_block* simulator::find_work(worker& w) noexcept {
    for (;;) {
        {
            const carrier::visit inside(*this_carrier());
            if (auto* const f = pick(w)) return f;
        }
        if (failing_) report_failure();
        if (owner_.stopping()) return nullptr;
        if (moves() && pass_time(w)) continue;
        w.parker_.sleep(never);  // SIMULATOR-3
    }
}

// \returns whether a fiber may be able to run now.
bool simulator::pass_time(worker& w) {
    // The world may have begun to move after pick() gathered the fibers and found it still.
    if (!ready_.empty() || !owner_.injected().empty() || is_over()) return true;
    if (const auto t = w.timers_.earliest(); t != never) {
        now_ = std::max(now_, t);
        return true;
    }
    if (auto* const one = resting_.claim_front()) {
        const carrier::visit inside(*this_carrier());
        one->unpark();
        return true;
    }
    // relaxed: this thread writes the phase itself, except `ending`, which lasts
    if (phase_.load(relaxed) == phase::ending) {
        if (owner_.live() != 0) stand_still();
    } else if (main_.load(relaxed)) {
        fail(kind::deadlock, "nobody can run, and no timer is set");
        return true;
    }
    return false;
}

bool simulator::come_to_rest() noexcept {
    wait w({.kind = rest_wait, .may_stop = interruptible::no});
    waiter me(w.cell(), w.ticket());
    resting_.push_back(me);
    static_cast<void>(w.park());
    return owner_.live() == 1;
}

// ---- how a run ends

bool simulator::is_over() {
    auto* const main = main_.load(relaxed);  // set before phase_
    if (!main || !main->has_ended()) return false;
    stand_still();
    return true;
}

// Notes the failure only; report_failure() describes it. This may be inside a visit, where living()
// must not be called.
void simulator::fail(kind why, const char* what) noexcept {
    if (!moves()) return;
    if (phase_.load(relaxed) == phase::ending) return stand_still();
    failing_ = what;
    why_ = why;  // published by report_failure()
    phase_.store(phase::still, relaxed);
}

void simulator::report_failure() {
    auto text = describe(std::exchange(failing_, nullptr));
    {
        const lock_guard guard(lock_);
        has_failed_ = true;
        what_ = std::move(text);
    }
    stand_still();
}

// The end of the runtime may take as many steps as the run had, but at least enough for a small
// program, and any amount of time.
void simulator::extend_for_end() noexcept {
    if (phase_.load(relaxed) != phase::ending || std::exchange(is_ending_, true)) return;
    if (options_.max_steps == 0 && options_.max_time == duration::zero()) return;
    const auto more = std::max({options_.max_steps, steps_, least_steps_to_end});
    most_steps_ = more > ~steps_ ? ~std::uint64_t{0} : steps_ + more;
}

void simulator::stand_still() noexcept {
    // Pairs with has_given_up().
    if (phase_.load(relaxed) == phase::ending) given_up_.store(true, release);
    phase_.store(phase::still, release);  // pairs with moves()
    main_.store(nullptr, relaxed);
    waiter* w;
    {
        const lock_guard guard(lock_);
        run_is_over_ = true;
        last_ = {.trace = trace_, .steps = steps_, .time = now_ - beginning};
        w = outside_.claim_front();
    }
    if (w) w->unpark();
}

// ---- any thread

void simulator::go(phase p) noexcept {
    phase_.store(p, release);  // pairs with moves()
    frozen_.store(false, seq_cst);  // pairs with moves() and note_outsider()
    owner_.worker_at(0).wake();  // SIMULATOR-3
}

void simulator::begin_run(control_block& main) noexcept {
    {
        const lock_guard guard(lock_);
        run_is_over_ = false;
    }
    require(main_.exchange(&main, relaxed) == nullptr,
            "run(): another run() of this simulated runtime is under way");  // published by go()
    go(phase::moving);
}

bool simulator::await_run() noexcept {
    for (;;) {
        lock_.lock();
        if (run_is_over_) {
            const bool well = !has_failed_;
            lock_.unlock();
            return well;
        }
        wait_on(lock_, outside_, {.kind = run_wait, .may_stop = interruptible::no});
    }
}

simulator::summary simulator::last_run() noexcept {
    const lock_guard guard(lock_);
    return last_;
}

void simulator::end() noexcept { go(phase::ending); }

void simulator::note_outsider() noexcept {
    auto still = phase::still;
    // pairs with freeze() and go()
    if (!frozen_.load(seq_cst) && !has_given_up())
        // Pairs with moves() and stand_still(). Fails if it moves already.
        static_cast<void>(phase_.compare_exchange_strong(still, phase::moving, acq_rel, acquire));
    owner_.worker_at(0).wake();  // SIMULATOR-3
}

// ---- the state in words

std::string simulator::others() { return describe("fibers live although the body has returned", this_fiber_block()); }

// Called on the carrier's thread, so no other fiber runs. Lists the fibers in the order in which
// they began (SIMULATOR-4).
std::string simulator::describe(const char* what, const control_block* but) {
    struct line {
        std::uint64_t number;
        std::string text;
    };
    std::vector<line> lines;
    std::unordered_map<const void*, std::size_t> objects;
    auto all = owner_.living();
    const auto number_of = [&](const scheduler::fiber_guard& f) {
        const auto found = numbers_.find(f.get());
        return f->started() && found != numbers_.end() ? found->second : ~std::uint64_t{0};
    };
    std::ranges::sort(all, {}, number_of);
    std::string text = "seed " + std::to_string(options_.seed) + ": " + what;
    int left = 50;  // chosen: a screenful
    for (const auto& f : all) {
        if (f.get() == but) continue;
        if (--left < 0) {
            text += "\n  and others";
            break;
        }
        text += "\n  fiber " + (f->started() ? std::to_string(number_of(f)) : std::string("-")) + ' ' + quoted(f->name());
        if (f->site.line() != 0) text += std::string(" (") + f->site.file_name() + ':' + std::to_string(f->site.line()) + ')';
        const auto state = state_of(*f);
        if (state != fiber_state::waiting) {
            text += ": " + std::string(name(state));
            continue;
        }
        text += ": waits for " + std::string(f->cold().waits_for().name);
        if (const void* const object = f->cold().object.load(relaxed))
            text += " #" + std::to_string(objects.try_emplace(object, objects.size() + 1).first->second);
    }
    return text;
}

simulator* simulator_here() noexcept {
    const auto* const f = this_fiber_block();
    return f ? f->owner->simulated() : nullptr;
}

// ---- the fibers' side

void switch_now() noexcept {
    auto* const c = this_carrier();
    auto* const self = c ? c->current() : nullptr;
    auto* const s = self ? self->owner->simulated() : nullptr;
    if (!s || c->is_inside()) return;
    if (s->is_switch()) carrier::yield(*self);
}

}  // namespace weft::detail

namespace weft {

std::chrono::steady_clock::time_point now() noexcept { return detail::clock::now(); }

std::uint32_t draw(std::uint32_t n) noexcept { return detail::choose(n); }

}  // namespace weft

// hog_reporter.cpp - how the reporter looks at carriers, and when a fiber on one is worth a report.
#include "sched/monitor/hog_reporter.hpp"

#include <pthread.h>

#include <array>
#include <cstdio>
#include <new>
#include <system_error>

#include "base/in_quotes.hpp"
#include "sched/monitor/blocked_in.hpp"
#include "sched/monitor/swallowed.hpp"
#include "sched/new_thread.hpp"
#include "sched/scheduler.hpp"
#include "stack/running_stack.hpp"

namespace weft::detail {
namespace {

constexpr int slices_to_report = 10;  // required: by the documentation of the options
// chosen: a report may be late by as much; a look costs a microsecond for each carrier
constexpr int slices_between_looks = 5;
// chosen: a hundred hogs on two CPUs have had their turn by then
constexpr duration answer_within = std::chrono::milliseconds(500);

}  // namespace

void hog_reporter::start() noexcept {
    if (thread_.joinable() || was_refused_ || (!owner_.options().on_hog && !audit_.is_on())) return;
    try {
        seen_.resize(std::max(owner_.options().max_carriers, owner_.worker_count()));
        thread_ = new_thread("no thread for it", [this] {
            char name[16];
            std::snprintf(name, sizeof name, "%.10s/hogs", owner_.options().name.c_str());
            pthread_setname_np(pthread_self(), name);
            run();
        });
    } catch (const std::exception& e) {  // no memory, or no thread
        was_refused_ = true;
        const printable_text name(owner_.options().name);
        std::fprintf(stderr, "weft: runtime \"%.*s\" does not report hogs: %s\n", static_cast<int>(name.view().size()),
                     name.view().data(), e.what());
    }
}

void hog_reporter::stop() noexcept {
    ending_.store(1, release);  // pairs with run()
    futex_wake(ending_, 1);
    wake();
    if (thread_.joinable()) thread_.join();
    audit_.stop();
    // HOG_REPORTER-4; pairs with ask_for(). It was not reported.
    if (auto* const f = swallows_.exchange(nullptr, acquire)) scheduler::drop(*f);
}

void hog_reporter::wake() noexcept {
    // pairs with run(): publishes the stretch to the next look
    if (woken_.exchange(1, release) == 0) futex_wake(woken_, 1);
}

void hog_reporter::all_sleep() noexcept {
    all_asleep_.store(true, relaxed);  // published by wake()
    wake();
}

bool hog_reporter::ask_for(control_block& self) noexcept {
    control_block* nobody = nullptr;
    self.life.refer();  // allowed: the run holds a reference
    // Pairs with tell_of_swallower().
    if (swallows_.compare_exchange_strong(nobody, &self, release, relaxed)) return true;
    scheduler::drop(self);
    return false;
}

void hog_reporter::tell_of_swallower() noexcept {
    if (!is_asked() || !allowance_.is_left(clock::now())) return;
    const scheduler::fiber_guard f(swallows_.exchange(nullptr, acquire));  // pairs with ask_for()
    const auto n = f->cold().cancels.load(relaxed);
    if (n == 0 || f->has_ended()) return;  // it has obeyed since
    allowance_.take();
    owner_.options().on_hog({.fiber = *f,
                             .thread = 0,
                             .blocks = false,
                             .held = swallows_since(*f, clock::now()),
                             .computed = {},
                             .blocked_in = {},
                             .stack = {},
                             .left_out = 0,
                             .cancelled = n});
}

void hog_reporter::run() noexcept {
    for (;;) {
        woken_.exchange(0, acquire);  // pairs with wake()
        // pairs with stop()
        if (ending_.load(acquire) != 0) return;
        // Pairs with all_sleep().
        if (all_asleep_.exchange(false, relaxed)) owner_.options().on_all_asleep();
        tell_of_swallower();
        const bool is_timed = audit_.is_on() && audit_.look();
        if (look_at_all() == look_again::no && !is_timed) {
            if (woken_.load(relaxed) == 0) (void)futex_wait(woken_, 0);
        } else {
            const auto next = clock::now() + slices_between_looks * owner_.options().time_slice;
            (void)futex_wait(ending_, 0, next.time_since_epoch().count());
        }
    }
}

hog_reporter::look_again hog_reporter::look_at_all() noexcept {
    auto again = look_again::no;
    if (!owner_.options().on_hog) return again;
    unsigned i = 0;
    owner_.for_each_carrier([&](carrier& c) {
        if (look_at(c, seen_[i++], clock::now()) == look_again::yes) again = look_again::yes;
    });
    return again;
}

// \returns what identifies the stretch of the carrier's fiber; 0: there is none to report. With a
// worker there is one only if no other carrier was left that could have had it.
std::int64_t hog_reporter::key_of(carrier& c) const noexcept {
    if (!c.hold().has_worker_hint()) return c.alone_since().time_since_epoch().count();
    if (!owner_.the_monitor().lacks_carriers()) return 0;
    for (unsigned i = 0; i < owner_.worker_count(); ++i)
        if (const auto& w = owner_.worker_at(i); w.held_by() == &c) return static_cast<std::int64_t>(w.dispatches());
    return 0;
}

hog_reporter::look_again hog_reporter::look_at(carrier& c, stretch& seen, time_point now) noexcept {
    auto* const fiber = c.current();
    const auto probe = c.probe();
    const auto key = key_of(c);
    // Reserved: no other fiber waits behind it.
    if (!fiber || probe.id() == 0 || key == 0 || c.is_reserved()) {
        seen.fiber = nullptr;
        return look_again::no;
    }
    const auto cpu = probe.cpu().value_or(duration::zero());
    if (seen.fiber != fiber || seen.key != key) {
        // Otherwise the fiber goes on after a child that ran in place, or the carrier has a worker.
        const bool is_new = seen.key != key && !c.hold().has_worker_hint();
        seen = {.fiber = fiber, .key = key, .since = is_new ? c.alone_since() : now, .cpu_then = cpu};
    }
    if (seen.is_reported) return look_again::no;
    const auto held = now - seen.since, computed = cpu - seen.cpu_then;
    const auto most = slices_to_report * owner_.options().time_slice;
    if (held < most) return look_again::yes;
    const auto activity = probe.activity();
    const bool blocks = activity == thread_activity::sleeps || (activity == thread_activity::unknown && computed < most);
    // It waits for a CPU, or the kernel could not be asked for lack of a descriptor.
    if (!blocks && computed < most) return look_again::yes;
    return report(c, seen, {*fiber, probe.id(), blocks, held, computed, {}, {}, 0});
}

hog_reporter::look_again hog_reporter::report(carrier& c, stretch& seen, const hog_sighting& what) noexcept {
    const auto now = clock::now();
    if (!allowance_.is_left(now)) {
        if (std::exchange(seen.is_left_out, true)) return look_again::yes;
        seen.left_out_after = told_;
        ++left_out_;
        return look_again::yes;
    }
    const auto held = owner_.guard(what.fiber);
    // HOG_REPORTER-1: the stretch is over, or it is another one.
    if (!held || c.current() != held.get() || key_of(c) != seen.key) return look_again::yes;
    allowance_.take();
    // HOG_REPORTER-5: reported after all
    if (seen.is_left_out && seen.left_out_after == told_) --left_out_;
    seen.is_reported = true;
    tell(what);
    return look_again::no;
}

void hog_reporter::tell(hog_sighting what) noexcept {
    std::array<char, 128> text;
    std::array<void*, 32> stack;
    if (what.blocks)
        what.blocked_in = blocked_in(what.thread, text);
    else
        what.stack = {stack.data(),
                      read_running_stack(what.thread, owner_.options().hog_signal, stack, clock::now() + answer_within)};
    what.left_out = std::exchange(left_out_, 0);
    ++told_;
    owner_.options().on_hog(what);
}

}  // namespace weft::detail

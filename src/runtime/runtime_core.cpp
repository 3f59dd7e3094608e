// runtime_core.cpp - checks the options and the environment, builds the parts, ends them.
#include "runtime/runtime_core.hpp"

#include <weft/detail/annotated_locks.hpp>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <stdexcept>

#include "arch/coroutine_slot.hpp"
#include "arch/sanitizer.hpp"
#include "base/cpus.hpp"
#include "base/exiting.hpp"
#include "base/futex_lock.hpp"
#include "base/in_words.hpp"
#include "base/never_destroyed.hpp"
#include "io/current.hpp"
#include "runtime/chosen_signal.hpp"
#include "runtime/hooks.hpp"
#include "sched/monitor/niceness.hpp"
#include "sched/monitor/preemption.hpp"
#include "sched/simulate/simulator.hpp"
#include "spawn/admission.hpp"
#include "stack/stack.hpp"

#if WEFT_UNDER_ASAN
#include <sanitizer/lsan_interface.h>
#endif

namespace weft::detail {
namespace {

io_context io_here() noexcept {
    auto* const core = current_runtime();
    return core && !core->fibers().simulated() ? io_context{&core->engine(), &core->pools(), &core->files()} : io_context{};
}

}  // namespace

std::optional<unsigned long> from_environment(const char* variable, unsigned long least, unsigned long most) {
    const char* const text = std::getenv(variable);
    if (!text || !*text) return std::nullopt;
    unsigned long n = 0;
    const char* const end = text + std::strlen(text);
    // from_chars accepts digits only: no sign, no spaces, no number that wraps around.
    const auto [stop, problem] = std::from_chars(text, end, n);
    if (problem != std::errc() || stop != end || n < least || n > most)
        throw std::invalid_argument("weft: " + std::string(variable) + " must be a number from " + std::to_string(least) +
                                    " to " + std::to_string(most) + ", not " + in_quotes(text));
    return n;
}

namespace {

constexpr unsigned long most_slice_us = 10'000'000;

unsigned chosen_workers(const runtime_options& o) {
    constexpr unsigned most = 1024;
    if (o.simulate) {
        if (o.workers <= 1) return 1;
        throw std::invalid_argument("weft: runtime_options::workers must be 0 or 1 with simulate, not " + std::to_string(o.workers));
    }
    if (const auto n = from_environment("WEFT_WORKERS", 1, most)) return static_cast<unsigned>(*n);
    if (o.workers > most)
        throw std::invalid_argument("weft: runtime_options::workers must be 0 (one per usable CPU) to 1024, not " +
                                    std::to_string(o.workers));
    return o.workers ? o.workers : usable_cpus();
}

/// The quota of the system is followed if neither the options nor the environment say how many
/// workers there are.
bool follows_quota(const runtime_options& o) { return !o.simulate && o.workers == 0 && !std::getenv("WEFT_WORKERS"); }

std::size_t checked_stack_bytes(const runtime_options& o) {
    if (o.stack_bytes < least_stack_bytes || o.stack_bytes > most_stack_bytes)
        throw std::invalid_argument("weft: runtime_options::stack_bytes must be 16 KiB to 1 GiB, not " +
                                    std::to_string(o.stack_bytes));
    return o.stack_bytes;
}

/// For a build without the monitor. An option that nobody set asks for nothing; a wish for
/// preemption is an error, since a program that counts on it would wait behind its hogs.
[[maybe_unused]] std::chrono::nanoseconds no_time_slice(const runtime_options& o) {
    using namespace std::chrono_literals;
    const auto refuse = [](const char* what) {
        throw std::invalid_argument(std::string("weft: ") + what +
                                    " asks for preemption, and this weft was built with WEFT_PREEMPT=OFF; it must be 0");
    };
    const char* const variable = std::getenv("WEFT_TIME_SLICE_US");
    if (variable && *variable) {
        if (from_environment("WEFT_TIME_SLICE_US", 0, most_slice_us) != 0) refuse("WEFT_TIME_SLICE_US");
    } else if (o.time_slice != 0ns && o.time_slice != forever && o.time_slice != runtime_options{}.time_slice) {
        refuse("runtime_options::time_slice");
    }
    if (from_environment("WEFT_TORTURE_HAND_OFFS", 0, 1) == 1) refuse("WEFT_TORTURE_HAND_OFFS");
    return 0ns;
}

std::chrono::nanoseconds chosen_time_slice(const runtime_options& o) {
    using namespace std::chrono_literals;
    if (o.simulate) return 0ns;
    if constexpr (!can_preempt) return no_time_slice(o);
    if (const auto us = from_environment("WEFT_TIME_SLICE_US", 0, most_slice_us)) return std::chrono::microseconds(*us);
    if (o.time_slice == forever) return 0ns;
    if (o.time_slice != 0ns && (o.time_slice < 100us || o.time_slice > 10s))
        throw std::invalid_argument("weft: runtime_options::time_slice must be 0 (no preemption) or 100 us to 10 s, not " +
                                    std::to_string(o.time_slice.count()) + " ns");
    return o.time_slice;
}

std::chrono::nanoseconds chosen_timer_slack(const runtime_options& o) {
    using namespace std::chrono_literals;
    constexpr unsigned long most_us = 1'000'000;
    if (const auto us = from_environment("WEFT_TIMER_SLACK_US", 0, most_us)) return std::chrono::microseconds(*us);
    if (o.timer_slack < 0ns || o.timer_slack > 1s)
        throw std::invalid_argument("weft: runtime_options::timer_slack must be 0 (no timer waits for another) to 1 s, not " +
                                    std::to_string(o.timer_slack.count()) + " ns");
    return o.timer_slack;
}

unsigned chosen_max_carriers(const runtime_options& o, unsigned workers) {
    constexpr unsigned most = 1u << 16;
    if (const auto n = from_environment("WEFT_MAX_CARRIERS", workers, most)) return static_cast<unsigned>(*n);
    if (o.max_carriers == unsigned{no_limit}) return most;
    if (o.max_carriers == 0 || o.max_carriers > most)
        throw std::invalid_argument("weft: runtime_options::max_carriers must be 1 to 65536, not " +
                                    std::to_string(o.max_carriers));
    return std::max(o.max_carriers, workers);
}

unsigned chosen_blocking_threads(const runtime_options& o) {
    constexpr unsigned most = 1u << 16;
    if (const auto n = from_environment("WEFT_BLOCKING_THREADS", 1, most)) return static_cast<unsigned>(*n);
    if (o.blocking_threads == unsigned{no_limit}) return most;
    if (o.blocking_threads == 0 || o.blocking_threads > most)
        throw std::invalid_argument("weft: runtime_options::blocking_threads must be 1 to 65536, not " + std::to_string(o.blocking_threads));
    return o.blocking_threads;
}

int chosen_hog_nice(const runtime_options& o) {
    if (const auto n = from_environment("WEFT_HOG_NICE", 0, nicest)) return static_cast<int>(*n);
    if (o.hog_nice < 0 || o.hog_nice > nicest)
        throw std::invalid_argument("weft: runtime_options::hog_nice must be 0 (as other threads) to 19, not " + std::to_string(o.hog_nice));
    return o.hog_nice;
}

std::size_t checked_max_fibers(const runtime_options& o) {
    // chosen: more than fit into the memory of any machine
    constexpr std::size_t most = 1'000'000'000;
    if (o.max_fibers == std::size_t{no_limit}) return 0;
    if (o.max_fibers > most)
        throw std::invalid_argument("weft: runtime_options::max_fibers must be 0 (no limit) to 1000000000, not " +
                                    std::to_string(o.max_fibers));
    return o.max_fibers;
}

at_limit checked_at_limit(const runtime_options& o) {
    switch (o.at_limit) {
        case at_limit::park:
        case at_limit::run_inline:
        case at_limit::fail: return o.at_limit;
    }
    throw std::invalid_argument("weft: runtime_options::at_limit must be park, run_inline or fail, not " +
                                std::to_string(static_cast<int>(o.at_limit)));
}

migration_policy chosen_migration(const runtime_options& o) {
    if (o.simulate) {
        if (o.migration == migration_policy::normal) return migration_policy::normal;
        throw std::invalid_argument("weft: runtime_options::migration must be normal with simulate: there is one thread");
    }
    if (const char* const text = std::getenv("WEFT_MIGRATION"); text && *text) {
        if (std::string_view(text) == "normal") return migration_policy::normal;
        if (std::string_view(text) == "torture") return migration_policy::torture;
        throw std::invalid_argument("weft: WEFT_MIGRATION must be normal or torture, not " + in_quotes(text));
    }
    if (o.migration != migration_policy::normal && o.migration != migration_policy::torture)
        throw std::invalid_argument("weft: runtime_options::migration must be normal or torture, not " +
                                    std::to_string(static_cast<int>(o.migration)));
    return o.migration;
}

std::optional<simulation> chosen_simulation(const runtime_options& o) {
    if (!o.simulate) return std::nullopt;
    auto s = *o.simulate;
    constexpr auto longest_step = std::chrono::seconds(1);
    constexpr std::uint32_t rarest = 1'000'000;
    if (s.step < s.step.zero() || s.step > longest_step)
        throw std::invalid_argument("weft: simulation::step must be 0 to 1 s, not " + std::to_string(s.step.count()) + " ns");
    if (s.switch_one_in > rarest)
        throw std::invalid_argument("weft: simulation::switch_one_in must be 0 (drawn) to 1000000, not " + std::to_string(s.switch_one_in));
    if (s.max_time < s.max_time.zero())
        throw std::invalid_argument("weft: simulation::max_time must be 0 (no limit) or more, not " + std::to_string(s.max_time.count()) + " ns");
    if (const auto seed = from_environment("WEFT_SEED", 0, std::numeric_limits<unsigned long>::max())) s.seed = *seed;
    return s;
}

std::string what_of(const std::exception_ptr& e) {
    try {
        std::rethrow_exception(e);
    } catch (const std::exception& x) {
        return x.what();
    } catch (...) {
        return "an exception that is not a std::exception";
    }
}

/// For on_unhandled: describes the body of a scope that was opened by a plain thread.
fiber_info info_of_a_plain_thread() noexcept {
    fiber_info info{};
    info.name = "a plain thread";
    info.state = name(fiber_state::running);
    info.waits_for = no_wait.name;
    return info;
}

void report_by_default(const fiber_info& f, const std::exception_ptr& e, unheard why) noexcept try {
    const auto who = f.id.value == 0 ? std::string(f.name) : in_words(f.name, f.site), what = printable(what_of(e));
    const auto print = [](const char* form, const std::string& first, const std::string& second) {
        std::fprintf(stderr, form, first.c_str(), second.c_str());
    };
    switch (why) {
        case unheard::unjoined: return print("weft: %s failed and nobody joined it: %s\n", who, what);
        case unheard::further: return print("weft: scope: a further failure: %s: %s\n", who, what);
        case unheard::handler:
            return print("weft: event source %s: a handler failed and was removed: %s\n", in_quotes(f.name), what);
    }
} catch (const std::bad_alloc&) {  // most often this is also why the fiber has failed
    const printable_text name(f.name);
    std::fprintf(stderr, "weft: %s \"%.*s\" failed; there is no memory to say how\n",
                 why == unheard::handler ? "event source" : "fiber", static_cast<int>(name.view().size()), name.view().data());
}

}  // namespace

runtime_core::runtime_core(runtime& facade, runtime_options options)
    : facade_(facade), options_(std::move(options)), stack_signal_(options_), pools_(chosen_blocking_threads(options_)) {
    set_io_context_lookup(io_here);
    const auto workers = chosen_workers(options_);
    const int dump_signal = chosen_signal("WEFT_DUMP_SIGNAL", "dump_signal", options_.dump_signal);
    const bool is_inspected = from_environment("WEFT_INSPECT", 0, 1).value_or(options_.inspect ? 1 : 0) == 1;
    prints_census_ = from_environment("WEFT_STACK_CENSUS", 0, 1).value_or(0) == 1;
    scheduler_options o{.workers = workers,
                        .stack_bytes = checked_stack_bytes(options_),
                        .time_slice = chosen_time_slice(options_),
                        .timer_slack = chosen_timer_slack(options_),
                        .max_carriers = chosen_max_carriers(options_, workers),
                        .keep_identities = options_.keep_identities,
                        .hooked = from_environment("WEFT_HOOKS", 0, 1).value_or(options_.hooks ? 1 : 0) == 1 && begin_hooks(),
                        .torture_hand_offs = !options_.simulate && from_environment("WEFT_TORTURE_HAND_OFFS", 0, 1).value_or(0) == 1,
                        .max_fibers = checked_max_fibers(options_),
                        .census = options_.stack_census || prints_census_,
                        .when_full = checked_at_limit(options_),
                        .migration = chosen_migration(options_),
                        .simulate = chosen_simulation(options_),
                        .name = options_.name,
                        .unhandled =
                            [this](control_block* f, const std::exception_ptr& e, unheard why, const failure_hook* instead) {
                                const auto info = f ? info_of(*f) : info_of_a_plain_thread();
                                if (instead && *instead) return (*instead)(info, e);
                                if (options_.on_unhandled) return options_.on_unhandled(info, e);
                                report_by_default(info, e, why);
                                // and not the failure of a scope inside the body
                                const bool its_own = f && f->body && f->body->failure() == e;
                                if (its_own && f->mark.detached) std::terminate();
                            },
                        .on_hog = [this](const hog_sighting& h) { report_hog(options_, h); },
                        .may_be_stuck = deadlock_reporter::may_find_any,
                        .on_all_asleep = [this] { deadlocks_.look(); },
                        .follows_quota = follows_quota(options_),
                        .hog_nice = chosen_hog_nice(options_),
                        .hog_signal = stack_signal_.number(),
                        .context = this};
    scheduler_ = std::make_unique<scheduler>(std::move(o), *engine_);
    listed_.emplace(*scheduler_);
    dumps_.emplace(dump_signal, is_inspected ? dump_service::on_request::yes : dump_service::on_request::no);
}

namespace {

// Keeps the core for ever, so that a leak checker does not report what fibers that cannot go on
// hold. The objects for which they wait may be destroyed (note_abandoned_fibers()).
void keep_for_good(runtime_core& core) {
    static futex_lock lock;
    static never_destroyed<std::vector<runtime_core*>> kept;
    const lock_guard guard(lock);
    (*kept).push_back(&core);
    note_abandoned_fibers();
#if WEFT_UNDER_ASAN
    for (const auto& f : core.fibers().living())
        if (f->home) __lsan_register_root_region(f->home->span.low, static_cast<std::size_t>(f->home->span.high - f->home->span.low));
#endif
}

}  // namespace

bool runtime_core::is_ended_by_own_exit() const noexcept {
    return current_scheduler() == scheduler_.get() && is_called_by_exit();
}

runtime_core::~runtime_core() {
    while (!shutdown(clock::now() + std::chrono::seconds(5))) {}
    if (prints_census_) print_census();
}

bool runtime_core::shutdown(time_point until) {
    require(current_scheduler() != scheduler_.get(), "a runtime is ended from outside, not by one of its own fibers");
    auto* const simulated = scheduler_->simulated();
    if (simulated) simulated->freeze();  // so that all fibers are stopped at one moment
    scheduler_->request_stop_of_all();
    if (simulated) simulated->end();
    if (scheduler_->drain(until)) return true;
    if (!simulated || !simulated->has_given_up()) name_stragglers();
    return false;
}

bool runtime_core::ends_simulation() {
    auto* const simulated = scheduler_->simulated();
    if (!simulated) return true;
    while (!simulated->has_given_up() && !shutdown(clock::now() + std::chrono::seconds(5))) {}
    if (!simulated->has_given_up()) return true;
    scheduler_->stop();
    keep_for_good(*this);
    return false;
}

void runtime_core::name_stragglers() noexcept try {
    std::fprintf(stderr, "weft: runtime %s waits for fibers that were asked to stop:\n", in_quotes(options_.name).c_str());
    int left = 20;  // chosen: one screen
    for_each_fiber([&](const fiber_info& info) {
        if (--left >= 0)
            std::fprintf(stderr, "  %s: %.*s, waits for %.*s\n", in_words(info.name, info.site).c_str(),
                         static_cast<int>(info.state.size()), info.state.data(), static_cast<int>(info.waits_for.size()),
                         info.waits_for.data());
    });
    if (left < 0) std::fprintf(stderr, "  and %d more\n", -left);
} catch (const std::bad_alloc&) {
    std::fputs("weft: a runtime waits for fibers that were asked to stop; there is no memory to name them all\n", stderr);
}

void runtime_core::for_each_fiber(const std::function<void(const fiber_info&)>& f) {
    for (const auto& fiber : scheduler_->living()) {
        char name_now[sizeof fiber->cold().name_text];
        const auto info = info_of(*fiber, name_now);
        if (info.state != name(fiber_state::done)) f(info);
    }
}

// ---- a simulated run

simulated_run::simulated_run(runtime_core& core) : core_(core), simulator_(core.fibers().simulated()) {
    if (!simulator_) return;
    if (current_scheduler() == &core.fibers())
        simulator_ = nullptr;
    else
        simulator_->freeze();
}

void simulated_run::go(const fiber_ref& main) noexcept { simulator_->begin_run(*main.block()); }

bool simulated_run::succeeds() noexcept {
    if (simulator_->await_run()) return true;
    while (!simulator_->has_given_up() && !core_.shutdown(clock::now() + std::chrono::seconds(5))) {}
    return false;
}

void simulated_run::fail() { throw simulator_->failure(); }

fiber_info info_of(const control_block& f) noexcept {
    const auto state = state_of(f);
    return {.id = {id_of(f)},
            .name = f.name(),
            .site = f.site,
            .state = name(state),
            // A hint.
            .waits_for = (state == fiber_state::waiting ? f.cold().waits_for() : no_wait).name,
            .detached = f.mark.detached,
            .priority = f.priority()};
}

fiber_info info_of(control_block& f, std::span<char> room) noexcept {
    const lock_guard guard(f.lock);
    auto info = info_of(f);
    info.name = {room.data(), info.name.copy(room.data(), room.size())};
    return info;
}

runtime_core* current_runtime() noexcept {
    const auto* const s = current_scheduler();
    return s ? static_cast<runtime_core*>(s->options().context) : nullptr;
}

}  // namespace weft::detail

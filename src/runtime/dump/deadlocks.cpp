#include "runtime/dump/deadlocks.hpp"

#include <algorithm>
#include <cstdio>
#include <new>
#include <ostream>
#include <sstream>
#include <thread>
#include <unordered_map>

#include <weft/runtime.hpp>

#include "base/direct.hpp"
#include "base/in_quotes.hpp"
#include "fiber/hook.hpp"
#include "runtime/dump/all_runtimes.hpp"
#include "runtime/dump/dump_forms.hpp"
#include "sched/inspect/quiet_threads.hpp"

namespace weft {
namespace detail {
namespace {

// chosen: enough for a thread that was woken to get a CPU
constexpr auto time_to_act = std::chrono::milliseconds(100);
// The precision of fiber_snapshot::waited.
constexpr auto known_to = std::chrono::milliseconds(20);
// chosen: looking costs at most a hundredth of the time, however many fibers there are
constexpr int rest_after_look = 100;

template <class F>
void for_each_fiber_of(const process_snapshot& all, F&& f) {
    for (const auto& r : all.runtimes)
        for (const auto& one : r.fibers) f(one);
}

std::vector<deadlock> circles(const process_snapshot& all) {
    std::unordered_map<std::uint64_t, const fiber_snapshot*> by_id;
    for_each_fiber_of(all, [&](const fiber_snapshot& f) { by_id[f.id.value] = &f; });
    const bool any_timers = std::ranges::any_of(all.runtimes, &runtime_snapshot::has_timers);
    std::vector<deadlock> found;
    for (const auto& cycle : all.cycles) {
        auto& one = found.emplace_back(deadlock{deadlock::kind::circle, !any_timers, {}});
        for (const auto id : cycle) one.fibers.push_back(*by_id.at(id.value));
    }
    return found;
}

std::string_view headline(const deadlock& d) noexcept {
    switch (d.what) {
        case deadlock::kind::circle:
            return d.certain ? "they wait for one another, for ever unless one is stopped"
                             : "they wait for one another, for ever unless one is stopped or has a limit of time";
        case deadlock::kind::all_asleep:
            return d.certain ? "all fibers wait, and nothing is left that could wake one"
                             : "all fibers wait, and only a thread that is not weft's could wake one";
    }
    return "?";
}

std::vector<fiber_id> ids_of(const deadlock& d) {
    std::vector<fiber_id> ids(d.fibers.size());
    std::ranges::transform(d.fibers, ids.begin(), &fiber_snapshot::id);
    std::ranges::sort(ids);
    return ids;
}

// The certain deadlocks whose fibers have all waited for at least `waited`.
std::vector<deadlock> among_those_seen(stacks which, duration waited) {
    const bool before = others_may_act();
    const auto all = take_snapshot(which);
    auto found = deadlocks_among(all, others_may_act() || before);
    const auto is_young = [&](const fiber_snapshot& f) { return !f.waited || *f.waited + known_to < waited; };
    std::erase_if(found, [&](const deadlock& d) { return !d.certain || std::ranges::any_of(d.fibers, is_young); });
    return found;
}

void print(const deadlock& d) {
    std::ostringstream text;
    text << d;
    std::fputs(text.str().c_str(), stderr);
}

}  // namespace

std::vector<deadlock> deadlocks_among(const process_snapshot& all, bool others_may_act) {
    auto found = circles(all);
    if (!all.at_rest) return found;
    auto& one = found.emplace_back(deadlock{deadlock::kind::all_asleep, !others_may_act, {}});
    for_each_fiber_of(all, [&](const fiber_snapshot& f) { one.fibers.push_back(f); });
    return found;
}

bool deadlock_reporter::may_find_any() noexcept try {
    const auto all = listed_runtime::all();
    // nothing would be certain
    if (std::ranges::any_of(all, [](const auto& r) { return r->fibers().has_timers(); })) return false;
    return std::ranges::any_of(all, [](const auto& r) { return r->fibers().some_wait_for_another(); }) || !others_may_act();
} catch (const std::bad_alloc&) {
    return false;
}

// A plain thread that has been woken counts as waiting until it gets a CPU. So this looks twice,
// and believes only fibers that were waiting all the time in between.
void deadlock_reporter::look() noexcept {
    const auto from = clock::now();
    if (from < not_before_) return;
    try {
        if (!among_those_seen(stacks::left_out, duration::zero()).empty()) {
            direct::sleep_for(time_to_act);
            for (const auto& d : among_those_seen(stacks::shown, time_to_act)) {
                auto ids = ids_of(d);
                if (std::ranges::find(told_, ids) != told_.end()) continue;
                told_.push_back(std::move(ids));
                call_hook("on_deadlock", [&] { options_.on_deadlock ? options_.on_deadlock(d) : print(d); });
            }
        }
    } catch (const std::exception& e) {
        const printable_text what(e.what());
        std::fprintf(stderr, "weft: a look for deadlocks has thrown: %.*s\n", static_cast<int>(what.view().size()),
                     what.view().data());
    }
    not_before_ = clock::now() + rest_after_look * (clock::now() - from);
}

}  // namespace detail

std::vector<deadlock> find_deadlocks() {
    const bool before = detail::others_may_act();
    const auto all = take_snapshot();
    return detail::deadlocks_among(all, detail::others_may_act() || before);
}

std::ostream& operator<<(std::ostream& to, const deadlock& d) {
    to << "weft: " << (d.certain ? "deadlock" : "perhaps a deadlock") << ": " << detail::headline(d) << '\n';
    process_snapshot those;
    those.runtimes.emplace_back().fibers = d.fibers;
    if (d.what == deadlock::kind::circle) {
        auto& ids = those.cycles.emplace_back(d.fibers.size());
        std::ranges::transform(d.fibers, ids.begin(), &fiber_snapshot::id);
    }
    detail::code_names names;
    detail::write_fibers(to, those, names);
    return to;
}

fiber_census::fiber_census() {
    detail::for_each_fiber_of(take_snapshot(stacks::left_out), [this](const fiber_snapshot& f) { before_.push_back(f.id); });
    std::ranges::sort(before_);
}

std::string fiber_census::left_behind(std::chrono::nanoseconds patience) const {
    const auto until = detail::deadline_after(patience);
    const auto is_new = [this](const fiber_snapshot& f) { return !std::ranges::binary_search(before_, f.id); };
    for (auto pause = std::chrono::microseconds(50);; pause = std::min(2 * pause, std::chrono::microseconds(10'000))) {
        bool any = false;
        detail::for_each_fiber_of(take_snapshot(stacks::left_out), [&](const fiber_snapshot& f) { any = any || is_new(f); });
        if (!any) return {};
        if (detail::clock::now() >= until) break;
        this_fiber::sleep_for(pause);
    }
    process_snapshot those;
    auto& fibers = those.runtimes.emplace_back().fibers;
    detail::for_each_fiber_of(take_snapshot(), [&](const fiber_snapshot& f) {
        if (is_new(f)) fibers.push_back(f);
    });
    std::ostringstream text;
    detail::code_names names;
    detail::write_fibers(text, those, names);
    return text.str();
}

}  // namespace weft

#include "runtime/deadlocks.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <ostream>
#include <sstream>
#include <unordered_map>

#include <weft/runtime.hpp>

#include "runtime/dump_forms.hpp"
#include "sched/quiet_threads.hpp"

namespace weft {
namespace detail {
namespace {

constexpr int rest_after_look = 100;  // chosen: looks cost a hundredth of the time at most, however many fibers there are

template <class F>
void for_each_fiber_of(const process_snapshot& all, F&& f) {
    for (const auto& r : all.runtimes)
        for (const auto& one : r.fibers) f(one);
}

bool is_parked(const fiber_snapshot& f) noexcept { return f.waited.has_value(); }

std::vector<deadlock> circles(const process_snapshot& all) {
    std::unordered_map<std::uint64_t, const fiber_snapshot*> by_id;
    for_each_fiber_of(all, [&](const fiber_snapshot& f) { by_id[f.id.value] = &f; });
    std::vector<deadlock> found;
    for (const auto& cycle : all.cycles) {
        auto& one = found.emplace_back(deadlock{deadlock::kind::circle, true, {}});
        for (const auto id : cycle) one.fibers.push_back(*by_id.at(id.value));
    }
    return found;
}

bool are_all_asleep(const process_snapshot& all) {
    bool any = false, asleep = true;
    for (const auto& r : all.runtimes) asleep = asleep && !r.has_timers;
    for_each_fiber_of(all, [&](const fiber_snapshot& f) {
        any = true;
        asleep = asleep && is_parked(f) && !f.external;
    });
    return any && asleep;
}

// Fibers at one channel all wait for the same: a sender and a receiver would have met.
std::vector<deadlock> lonely_channels(const process_snapshot& all) {
    std::map<const void*, std::vector<const fiber_snapshot*>> at;
    for_each_fiber_of(all, [&](const fiber_snapshot& f) {
        if (f.handles) at[f.object].push_back(&f);
    });
    std::vector<deadlock> found;
    for (const auto& [channel, fibers] : at) {
        if (fibers.size() < *fibers.front()->handles) continue;
        auto& one = found.emplace_back(deadlock{deadlock::kind::lonely_channel, false, {}});
        for (const auto* const f : fibers) one.fibers.push_back(*f);
    }
    return found;
}

std::string_view headline(const deadlock& d) noexcept {
    switch (d.what) {
        case deadlock::kind::circle: return "they wait for one another, for ever unless one is stopped or has a deadline";
        case deadlock::kind::all_asleep:
            return d.certain ? "all fibers wait, and nothing is left that could wake one"
                             : "all fibers wait, and only a thread that is not weft's could wake one";
        case deadlock::kind::lonely_channel: return "as many fibers wait at a channel as it has handles, so that nobody else may come";
    }
    return "?";
}

std::vector<fiber_id> ids_of(const deadlock& d) {
    std::vector<fiber_id> ids(d.fibers.size());
    std::ranges::transform(d.fibers, ids.begin(), &fiber_snapshot::id);
    std::ranges::sort(ids);
    return ids;
}

void print(const deadlock& d) {
    std::ostringstream text;
    text << d;
    std::fputs(text.str().c_str(), stderr);
}

}  // namespace

std::vector<deadlock> deadlocks_among(const process_snapshot& all, bool others_may_act) {
    auto found = circles(all);
    if (are_all_asleep(all)) {
        auto& one = found.emplace_back(deadlock{deadlock::kind::all_asleep, !others_may_act, {}});
        for_each_fiber_of(all, [&](const fiber_snapshot& f) { one.fibers.push_back(f); });
    } else {
        std::ranges::move(lonely_channels(all), std::back_inserter(found));
    }
    return found;
}

// The first look is without stacks, since most find nothing. Who was found may have gone on by the second.
void deadlock_reporter::look() noexcept {
    const auto from = clock::now();
    if (from < not_before_) return;
    try {
        const auto is_certain = [](const deadlock& d) { return d.certain; };
        if (std::ranges::any_of(deadlocks_among(take_snapshot(stacks::left_out), others_may_act()), is_certain))
            for (const auto& d : deadlocks_among(take_snapshot(), others_may_act())) {
                auto ids = ids_of(d);
                if (!d.certain || std::ranges::find(told_, ids) != told_.end()) continue;
                told_.push_back(std::move(ids));
                options_.on_deadlock ? options_.on_deadlock(d) : print(d);
            }
    } catch (const std::exception& e) {
        std::fprintf(stderr, "weft: a look for deadlocks, or on_deadlock, has thrown: %s\n", e.what());
    } catch (...) {
        std::fputs("weft: on_deadlock has thrown\n", stderr);
    }
    not_before_ = clock::now() + rest_after_look * (clock::now() - from);
}

}  // namespace detail

std::vector<deadlock> find_deadlocks() {
    const bool others = detail::others_may_act();
    return detail::deadlocks_among(take_snapshot(), others);
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

// snapshot.cpp - what is seen of every fiber at one look, and which fibers wait for ever.
//
// A waiting fiber is held while it is read (scheduler::for_each_seized). So its reason, its object,
// the object's holder and its stack all belong to one wait, whose ticket is kept. A cycle is
// believed under two conditions: all members were found waiting and their holders, asked once more,
// are the same; and after that all members still wait in the waits seen first. Then there was a
// moment at which each waited for the next. A fiber that joins another by running it is in no wait
// of its own; it waits as long as that fiber does.
#include <weft/dump.hpp>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "arch/left_stack.hpp"
#include "base/hook_table.hpp"
#include "io/streams_asleep.hpp"
#include "runtime/dump/all_runtimes.hpp"
#include "runtime/dump/wait_cycles.hpp"
#include "runtime/runtime_core.hpp"
#include "sched/joiners.hpp"
#include "sched/simulate/simulator.hpp"
#include "stack/running_stack.hpp"

namespace weft {
namespace {

using namespace detail;

constexpr std::size_t most_frames = 64;  // chosen: one screen
constexpr std::size_t most_holders = 64;  // chosen: children of a scope, read under its lock
// chosen: a fiber that is woken while it is held is delayed by at most 50 us
constexpr std::size_t held_at_once = 4;
// chosen: a dump is wanted soon
constexpr auto answer_within = std::chrono::milliseconds(100);

struct seen_fiber {
    scheduler::fiber_guard fiber;
    fiber_snapshot what;
    std::optional<wait_ticket> ticket;  // the ticket of the wait that was seen
    // The fiber that it joins by running it itself, so without a wait.
    const control_block* in_place = nullptr;
    std::vector<const wait_cell*> holders;  // used as addresses only
};

struct seen_runtime {
    listed_runtime::viewed runtime;
    std::vector<seen_fiber> fibers;
    bool has_timers = false;
};

// The fiber is held.
std::vector<const wait_cell*> holders_of(const control_block& f) {
    const auto& cell = f.cold();
    // Stored by the fiber itself, before the wait.
    const auto find = cell.waits_for().holders;
    if (!find) return {};
    std::array<const wait_cell*, most_holders> found;
    const auto n = find(cell.object.load(relaxed), found);
    return {found.begin(), found.begin() + static_cast<std::ptrdiff_t>(n)};
}

// The fiber is held. If it waits inside a coroutine, the frames of the coroutine's stack come
// first, then those of its callers.
std::vector<void*> stack_of(const control_block& f) {
    std::array<void*, most_frames> frames;
    auto n = read_left_stack(f.ctx, frames);
    for (const auto* core = f.cold().slot.innermost; core && n < frames.size(); core = link_of(*core).outer)
        n += read_left_stack(link_of(*core).caller, std::span(frames).subspan(n));
    // Not in braces, which would make a list of two pointers.
    return std::vector<void*>(frames.begin(), frames.begin() + static_cast<std::ptrdiff_t>(n));
}

// The fiber is held, and the call lies on its stack.
std::optional<hooked_call_snapshot> call_of(const wait_cell& cell) {
    const auto* const call = static_cast<const hook_call*>(cell.object.load(relaxed));
    if (!call) return std::nullopt;
    return hooked_call_snapshot{call->name, call->descriptor, call->caller, call->object};
}

// The fiber is held.
void look_at_wait(const control_block& f, seen_fiber& seen, time_point now, stacks which) {
    const auto& cell = f.cold();
    seen.ticket = cell.word.last_ticket();
    seen.what.state = name(fiber_state::waiting);
    seen.what.waits_for = cell.waits_for().name;
    if (cell.waits_for().shows_call)
        seen.what.call = call_of(cell);
    else
        seen.what.object = cell.object.load(relaxed);
    seen.what.external = cell.waits_for().ends == ended_by::outside;
    seen.what.waited = std::chrono::duration_cast<std::chrono::milliseconds>(elapsed_since(cell.since.load(relaxed), now));
    seen.holders = holders_of(f);
    if (which == stacks::shown) seen.what.stack = stack_of(f);
}

// What can be told of any fiber, as hints. A fiber that joins another by running it is in no wait.
void look_at(control_block& f, seen_fiber& seen) {
    std::array<char, sizeof f.cold().name_text> room;
    const auto info = info_of(f, room);
    seen.what.id = info.id;
    seen.what.name = info.name;
    seen.what.site = info.site;
    seen.what.state = info.state;
    seen.what.waits_for = info.waits_for;
    seen.what.detached = info.detached;
    seen.what.priority = info.priority;
    const auto* const child = f.cold().in_place.load(relaxed);
    if (!child || f.cold().word.state() != wait_state::active) return;
    seen.what.waits_for = join_wait.name;
    seen.what.object = child;
    seen.in_place = child;
    seen.holders = {&child->cold()};
}

void look_at_threads(scheduler& s, std::unordered_map<const wait_cell*, seen_fiber*>& by_cell, stacks which) {
    s.for_each_carrier([&](carrier& c) {
        const auto* const current = c.seen_current();
        const auto found = current ? by_cell.find(&current->cold()) : by_cell.end();
        if (found == by_cell.end()) return;
        // It was waiting when it was looked at, and is shown so.
        if (found->second->ticket) return;
        auto& what = found->second->what;
        what.state = name(fiber_state::running);
        what.waits_for = no_wait.name;
        what.thread = c.probe().id();
        for (unsigned i = 0; i < s.worker_count(); ++i)
            if (s.worker_at(i).held_by() == &c && c.hold().has_worker_hint()) what.worker = i;
        // In a simulated runtime the clock would stand still meanwhile.
        if (which == stacks::left_out || simulator_here()) return;
        const int number = s.options().hog_signal;
        // Without a signal there is no answer of a thread that sleeps in the kernel.
        if (number == 0 && c.probe().activity() != thread_activity::runs) return;
        std::array<void*, most_frames> frames;
        const auto n = read_running_stack(what.thread, number, frames, clock::now() + answer_within);
        // The carrier has switched meanwhile, so it is unknown whose stack that was.
        if (c.current() != current) return;
        what.stack.assign(frames.begin(), frames.begin() + static_cast<std::ptrdiff_t>(n));
    });
}

class look_around {
public:
    explicit look_around(stacks which) {
        for (auto& r : listed_runtime::all()) runtimes_.push_back({.runtime = std::move(r), .fibers = {}});
        for (auto& r : runtimes_) find_fibers(r);
        const auto now = clock::now();
        for (auto& r : runtimes_) {
            auto& s = r.runtime->fibers();
            s.for_each_seized(pointers_to(r.fibers), held_at_once,
                              [&](control_block& f) { look_at_wait(f, *by_cell_.at(&f.cold()), now, which); });
            look_at_threads(s, by_cell_, which);
        }
        for (auto& r : runtimes_) r.has_timers = r.runtime->fibers().has_timers();
        for (auto& [cell, seen] : by_cell_) seen->what.waited = waited(*seen);
        for (auto& [cell, seen] : by_cell_)
            for (const auto* const holder : seen->holders)
                if (const auto found = by_cell_.find(holder); found != by_cell_.end())
                    seen->what.owners.push_back(found->second->what.id);
    }

    process_snapshot take() {
        process_snapshot all;
        all.cycles = cycles();
        all.at_rest = are_at_rest();
        for (auto& r : runtimes_) {
            const auto& fibers = r.runtime->fibers();
            auto& to = all.runtimes.emplace_back(runtime_snapshot{.name = fibers.options().name,
                                                                  .workers = fibers.options().workers,
                                                                  .refused = fibers.refused(),
                                                                  .has_timers = r.has_timers,
                                                                  .fibers = {}});
            for (auto& f : r.fibers) to.fibers.push_back(std::move(f.what));
            // Not held for longer: the end of a server waits for it.
            for (const auto& server : streams_asleep::all())
                if (server->belongs_to(fibers)) to.asleep.push_back(asleep_at(*server));
        }
        return all;
    }

private:
    static streams_asleep_snapshot asleep_at(const streams_asleep& server) {
        const auto seen = server.streams().look();
        streams_asleep_snapshot all{.owner = server.owner(), .address = server.address(), .count = seen.count, .longest = {}};
        if (seen.any_asleep)
            all.longest = std::chrono::duration_cast<std::chrono::milliseconds>(elapsed_since(seen.since, clock::now()));
        return all;
    }

    void find_fibers(seen_runtime& r) {
        for (auto& f : r.runtime->fibers().living()) {
            if (f->has_ended()) continue;
            auto& seen = r.fibers.emplace_back();
            seen.fiber = std::move(f);
            look_at(*seen.fiber, seen);
        }
        for (auto& seen : r.fibers) by_cell_[&seen.fiber->cold()] = &seen;
    }

    static std::vector<control_block*> pointers_to(const std::vector<seen_fiber>& fibers) {
        std::vector<control_block*> all(fibers.size());
        std::transform(fibers.begin(), fibers.end(), all.begin(), [](const seen_fiber& f) { return f.fiber.get(); });
        return all;
    }

    std::vector<std::vector<fiber_id>> cycles() {
        std::vector<seen_fiber*> nodes;
        std::unordered_map<const wait_cell*, std::size_t> number;
        for (auto& r : runtimes_)
            for (auto& f : r.fibers) {
                number[&f.fiber->cold()] = nodes.size();
                nodes.push_back(&f);
            }
        std::vector<std::vector<std::size_t>> edges(nodes.size());
        for (std::size_t i = 0; i < nodes.size(); ++i)
            for (const auto* const holder : nodes[i]->holders)
                if (const auto found = number.find(holder); found != number.end()) edges[i].push_back(found->second);
        std::vector<std::vector<fiber_id>> found;
        for (const auto& cycle : find_cycles(edges)) {
            std::vector<seen_fiber*> members;
            for (const auto i : cycle) members.push_back(nodes[i]);
            if (!is_true(members)) continue;
            auto& ids = found.emplace_back();
            for (const auto* const m : members) ids.push_back(m->what.id);
        }
        return found;
    }

    // A fiber that runs another itself has waited as long as that one has.
    std::optional<std::chrono::milliseconds> waited(const seen_fiber& f) const {
        const auto* one = &f;
        while (one->in_place) {
            const auto found = by_cell_.find(&one->in_place->cold());
            if (found == by_cell_.end()) return std::nullopt;
            one = found->second;
        }
        return one->what.waited;
    }

    // True if no timer was armed after all fibers had been seen, no fiber is alive that was not
    // seen, and all still wait in the waits that were seen. Then they all waited at the moment when
    // the timers were looked at.
    bool are_at_rest() const {
        bool any = false;
        for (const auto& r : runtimes_)
            if (r.has_timers || r.runtime->fibers().live() != r.fibers.size()) return false;
        for (const auto& r : runtimes_)
            for (const auto& f : r.fibers) {
                any = true;
                if (f.what.external || !still_waits(f)) return false;
            }
        return any;
    }

    static bool still_waits(const seen_fiber& f) noexcept {
        // This is a hint; together with the other fiber's ticket it is exact.
        if (f.in_place) return f.fiber->cold().in_place.load(relaxed) == f.in_place;
        const auto& word = f.fiber->cold().word;
        // The state is read before the ticket, since tickets only grow.
        return f.ticket && word.state() == wait_state::waiting && word.last_ticket() == *f.ticket;
    }

    static bool is_true(const std::vector<seen_fiber*>& members) {
        for (std::size_t i = 0; i < members.size(); ++i) {
            const auto* const next = members[(i + 1) % members.size()];
            bool waits_for_it = false;
            if (members[i]->in_place) {
                if (&members[i]->in_place->cold() != &next->fiber->cold()) return false;
                continue;
            }
            control_block* const one = members[i]->fiber.get();
            one->owner->for_each_seized({&one, 1}, 1, [&](control_block& f) {
                const auto now = holders_of(f);
                waits_for_it = std::find(now.begin(), now.end(), &next->fiber->cold()) != now.end();
            });
            if (!waits_for_it) return false;
        }
        return std::all_of(members.begin(), members.end(), [](const seen_fiber* f) { return still_waits(*f); });
    }

    std::vector<seen_runtime> runtimes_;
    std::unordered_map<const wait_cell*, seen_fiber*> by_cell_;
};

}  // namespace

process_snapshot take_snapshot(stacks which) { return look_around(which).take(); }

}  // namespace weft

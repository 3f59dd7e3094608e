#include "prefork/generation.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <ranges>

#include <weft/no_limit.hpp>

namespace weft::prefork {
namespace {

using kind = event_of_master::kind;

constexpr std::chrono::milliseconds first_pause{100};  // chosen: a crash loop costs little, and one crash is hardly noticed

std::vector<child_process> with_room(std::size_t n) {
    std::vector<child_process> none;
    none.reserve(n);
    return none;
}

/// A worker's name ends with "GENERATION.NUMBER".
unsigned number_of(std::string_view name) noexcept {
    name.remove_prefix(name.rfind('.') + 1);
    unsigned number = 0;
    std::from_chars(name.data(), name.data() + name.size(), number);
    return number;
}

/// The supervisor has no limit: the master counts, and decides.
supervisor_options supervision(unsigned number, const options& o, const std::string& name, const std::vector<child_process>& all,
                               channel<event_of_master>& events) {
    return {.strategy = o.strategy, .max_restarts = no_limit, .name = name, .on_end = [=, &all, &events](const child_report& r) {
                const unsigned worker = number_of(r.child);
                // The list is made on this thread, and has room for all. One that is not in it yet
                // has ended at once.
                const bool was_ready = worker <= all.size() && all[worker - 1].was_ready();
                events.send({.what = kind::worker_ended,
                             .number = number,
                             .text = std::string(r.child) + ' ' + r.reason.what() + (r.restarts ? "; it is started again" : ""),
                             .worker = worker,
                             .failed = r.reason.abnormal() || !was_ready});
            }};
}

}  // namespace

generation::generation(unsigned number, const options& o, const std::vector<std::string>& words,
                       std::span<const named_descriptor> given, scope& fibers, channel<event_of_master>& events,
                       std::vector<detail::running_process> running)
    : number_(number),
      max_restarts_(o.max_restarts),
      within_(o.within),
      failures_(o.processes),
      workers_(with_room(o.processes)),
      supervisor_(supervision(number, o, "generation " + std::to_string(number), workers_, events)) {
    running.resize(o.processes);
    for (unsigned i = 1; i <= o.processes; ++i) {
        const std::string role = std::to_string(number) + '.' + std::to_string(i), name = o.name + ' ' + role;
        workers_.push_back(detail::start_process_with(
            supervisor_, {.name = name, .shutdown = o.grace + after_grace},
            {.words = words,
             .descriptors = {given.begin(), given.end()},
             .environment = {std::string(role_variable) + '=' + role + '@' + std::to_string(::getpid())},
             .ready_within = o.ready_within,
             .pause = first_pause,
             .output = o.output,
             .on_line = o.on_line},
            std::move(running[i - 1])));
    }
    fibers.spawn({.name = "prefork generation"}, [number, end = supervisor_.monitor(), &events]() mutable {
        const auto why = end.receive();
        events.send({.what = kind::ended, .number = number, .text = why ? why->what() : ""});
    });
    fibers.spawn({.name = "prefork readiness"}, [number, all = workers_, &events] {
        for (const auto& w : all)
            if (!w.wait_until_ready()) return;
        events.send({.what = kind::ready, .number = number});
    });
}

bool generation::has_ready_workers() const noexcept {
    return std::ranges::any_of(workers_, [](const child_process& w) { return w.is_ready(); });
}

bool generation::note_failure(unsigned worker) {
    auto& times = failures_.at(worker - 1);
    const auto now = std::chrono::steady_clock::now();
    while (!times.empty() && now - times.front() > within_) times.pop_front();
    times.push_back(now);
    return times.size() > max_restarts_;
}

void generation::end() noexcept {
    is_ending_ = true;
    supervisor_.stop();  // first, so that no end is followed by a restart
    for (const auto& w : workers_ | std::views::reverse) w.end_life();
}

void generation::kill() noexcept {
    is_ending_ = true;
    supervisor_.kill();
}

std::optional<std::vector<detail::running_process>> generation::hold() {
    std::vector<detail::running_process> all;
    bool is_complete = true;
    for (const auto& w : workers_) {
        auto running = w.core().hold();
        is_complete = is_complete && running;
        if (running) all.push_back(std::move(*running));
    }
    return is_complete ? std::optional(std::move(all)) : std::nullopt;
}

void generation::release() noexcept {
    for (const auto& w : workers_) w.core().release();
}

}  // namespace weft::prefork

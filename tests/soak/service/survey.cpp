// survey.cpp - the table, and the figures of quiet points with what they are allowed.
#include "soak/service/survey.hpp"

#include <algorithm>
#include <cstdio>
#include <sstream>

#include <weft/fiber.hpp>

#include "arch/sanitizer.hpp"

namespace soak {

namespace {

using namespace std::chrono_literals;

// A connection to Redis that was lost is made again by the next command of its worker, so each worker's may be there or not: with a
// descriptor and a fiber that writes. Threads of the blocking pool stay for five seconds, and spare carriers for one to two; as many of
// those as there are workers stay for good.
const double workers = std::max(1u, std::thread::hardware_concurrency());
constexpr double threads_of_the_pool = 4;  // chosen: what a pause leaves of them differs by so many
// The allocator keeps what a burst has needed: an arena of some MiB for each thread that takes part in one.
constexpr double mib_of_arenas = WEFT_UNDER_ASAN ? 64 : WEFT_UNDER_TSAN ? 96 : 12;

// Spare carriers need a second without work to end, and a short run has none: how many it had says nothing. What comes and goes between
// the look at the threads and that at the carriers is taken for a thread.
constexpr double carriers_that_end_meanwhile = 32;

// What ThreadSanitizer keeps of threads, fibers and pages grows for the first half minute, to 400 to 700 MiB, and stays (`make soak-tsan`).
bool memory_is_judged(const plan& p) { return !p.is_short() || !WEFT_UNDER_TSAN; }

// The order is that of the values in take_quiet_point().
std::vector<series> nothing_yet(const plan& p) {
    std::vector<series> all{{.name = "descriptors", .unit = "", .least_allowance = workers, .points = {}},
                            {.name = "fibers", .unit = "", .least_allowance = workers, .points = {}},
                            {.name = "threads",
                             .unit = " besides carriers",
                             .least_allowance = threads_of_the_pool + (p.is_short() ? carriers_that_end_meanwhile : 0),
                             .points = {}}};
    if (memory_is_judged(p))
        all.push_back({.name = "RSS",
                       .unit = " MiB",
                       .least_allowance = mib_of_arenas * (p.is_short() ? 3 : 1),
                       .allowed_share = 0.1,
                       .points = {}});
    if (!p.is_short()) all.push_back({.name = "carriers", .unit = "", .least_allowance = workers, .points = {}});
    return all;
}

}  // namespace

survey::survey(const plan& p, const server_process& s, findings& f)
    : plan_(p), server_(s), found_(f), line_(s.control_port(), p.patience), taken_(nothing_yet(p)) {
    if (!memory_is_judged(p)) std::puts("RSS is not judged: what ThreadSanitizer keeps grows for as long as a short run lasts");
    std::puts(
        "      s   requests   failed  stopped hang-ups     slow  flooded kills frozen   RSS MiB  fds  fibers carriers threads "
        "hand-offs wrong");
}

std::string survey::call(const std::string& method, const std::string& path) {
    const std::lock_guard guard(mutex_);
    line_.send(method + ' ' + path + " HTTP/1.1\r\nHost: soak\r\nContent-Length: 0\r\n\r\n");
    return line_.receive().body;
}

inside survey::ask() {
    std::istringstream words(call("GET", "/state"));
    inside now;
    std::string name;
    std::uint64_t value = 0;
    while (words >> name >> value) {
        if (name == "fibers") now.fibers = static_cast<unsigned>(value);
        if (name == "carriers") now.carriers = static_cast<unsigned>(value);
        if (name == "connections") now.connections = static_cast<unsigned>(value);
        if (name == "asleep") now.asleep = static_cast<unsigned>(value);
        if (name == "hand_offs") now.hand_offs = value;
    }
    now.connections += now.asleep;
    auto& most = found_.n.most_asleep;
    if (now.asleep > most.load()) most.store(now.asleep);
    return now;
}

void survey::let_hogs_compute(bool on) { call("POST", on ? "/hogs/on" : "/hogs/off"); }

void survey::print_line() {
    const auto is = ask();
    const auto has = server_.look();
    const auto& n = found_.n;
    const auto number = [](const std::atomic<std::uint64_t>& of) { return static_cast<unsigned long long>(of.load()); };
    std::printf("%7.0f %10llu %8llu %8llu %8llu %8llu %8llu %5llu %6llu %9.1f %4u %7u %8u %7u %9llu %5llu\n", seconds(),
                number(n.requests), number(n.failed), number(n.stopped), number(n.hang_ups), number(n.slow), number(n.flooded),
                number(n.kills), number(n.freezes), has.resident_mib, has.descriptors, is.fibers, is.carriers, has.threads,
                static_cast<unsigned long long>(is.hand_offs), static_cast<unsigned long long>(found_.wrong.count()));
    std::fflush(stdout);
}

/// One is this one's own.
void survey::await_no_connections() {
    const auto until = clock::now() + plan_.patience;
    while (ask().connections > 1) {
        if (clock::now() > until)
            return found_.wrong.add(std::to_string(ask().connections - 1) + " connections do not end after their clients have");
        weft::this_fiber::sleep_for(50ms);
    }
}

void survey::take_quiet_point() {
    let_hogs_compute(false);
    await_no_connections();
    weft::this_fiber::sleep_for(plan_.settling());
    const auto is = ask();
    auto has = server_.look();
    for (int looks = 0; looks < 5; ++looks) {  // the runtime's monitor opens files of /proc for a moment
        weft::this_fiber::sleep_for(20ms);
        has.descriptors = std::min(has.descriptors, server_.look().descriptors);
    }
    const double carriers = is.carriers;
    const double values[] = {static_cast<double>(has.descriptors), static_cast<double>(is.fibers),
                             std::max(0.0, has.threads - carriers), has.resident_mib, carriers};
    for (std::size_t i = 0; i < taken_.size(); ++i) taken_[i].points.push_back({seconds(), values[i]});
    let_hogs_compute(true);
}

}  // namespace soak

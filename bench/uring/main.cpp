// main.cpp - sockets by epoll or by io_uring: what each costs, and what becomes of a ring whose
// thread is kept. The figures and what follows from them are in docs/measurements/io-uring.md.
//
// Rows of the seeds (docs/seeds/rows.md): seed_R11.
#include <sched.h>
#include <sys/resource.h>

#include <cstdio>
#include <fstream>
#include <iostream>

#include <CLI/CLI.hpp>

#include "echo.hpp"
#include "hand_off.hpp"
#include "machine.hpp"
#include "report.hpp"

namespace bench::uring {
namespace {

struct options {
    std::vector<unsigned> connections{64, 1000};
    unsigned runs = 15;
    unsigned window_ms = 300;
    std::vector<std::string> parts{"echo", "hand-off"};
    std::vector<int> cpus;
    bool json = false;

    bool wants(const char* part) const { return std::ranges::find(parts, part) != parts.end(); }
};

/// The first two CPUs that the process may use, or twice the only one.
std::vector<int> usable() {
    cpu_set_t mask;
    checked(::sched_getaffinity(0, sizeof mask, &mask), "sched_getaffinity");
    std::vector<int> found;
    for (int cpu = 0; cpu < CPU_SETSIZE && found.size() < 2; ++cpu)
        if (CPU_ISSET(static_cast<std::size_t>(cpu), &mask)) found.push_back(cpu);
    if (found.size() == 1) found.push_back(found.front());
    return found;
}

/// Two descriptors for each connection, and some for the rest.
void want_descriptors(unsigned connections) {
    const rlim_t wanted = 2 * rlim_t{connections} + 64;
    rlimit limit{};
    checked(::getrlimit(RLIMIT_NOFILE, &limit), "getrlimit");
    if (limit.rlim_cur >= wanted) return;
    if (limit.rlim_max < wanted)
        throw std::runtime_error("too many connections: the process may open " + std::to_string(limit.rlim_max) + " descriptors");
    limit.rlim_cur = wanted;
    checked(::setrlimit(RLIMIT_NOFILE, &limit), "setrlimit");
}

std::string load_of_machine() {
    std::ifstream file("/proc/loadavg");
    std::string one = "unknown";
    file >> one;
    return one;
}

/// The modes that the kernel has; it says on stderr which it refuses.
std::vector<ring_mode> usable_modes() {
    std::vector<ring_mode> modes;
    for (const auto m : all_modes) {
        if (const auto why = refusal(m))
            std::cerr << "The kernel refuses io_uring with " << name(m) << ": " << *why << ".\n";
        else
            modes.push_back(m);
    }
    return modes;
}

void measure(const options& o, std::span<const ring_mode> modes) {
    const cpu_pair cpus{o.cpus[0], o.cpus[1]};
    if (!o.json) std::cout << machine() << "; load " << load_of_machine() << "\n\n";
    if (o.wants("echo"))
        for (const unsigned n : o.connections) {
            want_descriptors(n);
            const auto rows = compare(
                ways(modes), {.cpus = cpus, .connections = n, .runs = o.runs, .window = std::chrono::milliseconds(o.window_ms)});
            o.json ? print_json(std::cout, n, rows) : print_table(std::cout, n, rows);
        }
    if (o.wants("hand-off")) {
        const auto rows = hand_offs(modes, cpus);
        o.json ? print_json(std::cout, rows) : print_table(std::cout, rows);
    }
    if (!o.json) std::cout << "load " << load_of_machine() << '\n';
}

int main_of(int argc, char** argv) {
    options o;
    CLI::App app(
        "Sockets by epoll and by io_uring. Two experiments:\n"
        "  echo      a server on one thread echoes messages of 64 bytes; the client is on another CPU.\n"
        "            The server waits by epoll, or receives by io_uring (multishot, provided buffers)\n"
        "            and sends by send(2) or by the ring.\n"
        "  hand-off  a thread arms a receive, and then computes or blocks; another one looks when it\n"
        "            learns of each message.\n"
        "Figures are medians. In parentheses are the quartiles of echo, and the extremes of hand-off.\n"
        "Where the kernel refuses io_uring, it says so and exits with 0.");
    app.add_option("--part", o.parts, "which of the two")
        ->delimiter(',')
        ->check(CLI::IsMember({"echo", "hand-off"}))
        ->capture_default_str();
    app.add_option("--connections", o.connections, "of echo: how many, one count after another")
        ->delimiter(',')
        ->check(CLI::Range(1, 16000))
        ->capture_default_str();
    app.add_option("--runs", o.runs, "of echo: rounds of all servers in turn, after one that is not counted")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    app.add_option("--window", o.window_ms, "of echo: milliseconds of one measurement")
        ->check(CLI::Range(10, 600000))
        ->capture_default_str();
    app.add_option("--cpus", o.cpus, "for the thread that is measured, and for the other; the first two by default")
        ->delimiter(',')
        ->expected(2);
    app.add_flag("--json", o.json, "one JSON object per figure and line, instead of the tables");
    CLI11_PARSE(app, argc, argv);
    if (o.cpus.empty()) o.cpus = usable();

    const auto modes = usable_modes();
    if (modes.empty()) {
        (o.json ? std::cerr : std::cout) << "The kernel refuses io_uring, so there is nothing to compare.\n";
        return 0;
    }
    measure(o, modes);
    return 0;
}

}  // namespace
}  // namespace bench::uring

int main(int argc, char** argv) try { return bench::uring::main_of(argc, argv); } catch (const std::exception& e) {
    std::fprintf(stderr, "weft_bench_uring: %s\n", e.what());
    return 1;
}

// peer.hpp - what the C++ peers share: arguments, repetitions, the lines that `run` reads, and the definitions of the workloads.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace peer {

struct request {
    unsigned workers = 1;
    unsigned runs = 1;   // 0: one, and none to warm up
    std::uint64_t n = 1;
};

struct label {
    std::string variant;
    std::uint64_t n;
    const char* unit;
};

[[noreturn]] inline void fail(const char* what) {
    std::fprintf(stderr, "peer: %s\n", what);
    std::exit(1);
}

/// `once` returns one figure for each label. The first call warms up.
template <class F>
void measure(const request& r, const std::vector<label>& labels, F&& once) {
    if (r.runs > 0) once();
    std::vector<std::string> lines(labels.size());
    for (unsigned run = 0; run < std::max(r.runs, 1U); ++run) {
        const std::vector<double> figures = once();
        for (std::size_t i = 0; i < labels.size(); ++i) lines[i] += ' ' + std::to_string(figures[i]);
    }
    for (std::size_t i = 0; i < labels.size(); ++i)
        std::printf("%s %llu %s%s\n", labels[i].variant.c_str(), static_cast<unsigned long long>(labels[i].n), labels[i].unit,
                    lines[i].c_str());
    std::fflush(stdout);
}

template <class F>
void measure(const request& r, label what, F&& once) {
    measure(r, std::vector{std::move(what)}, [&] { return std::vector<double>{once()}; });
}

template <class F>
double nanoseconds(F&& f) {
    const auto before = std::chrono::steady_clock::now();
    std::forward<F>(f)();
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - before).count();
}

/// A line of /proc/self/status, in bytes.
inline double memory(const std::string& name) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with(name + ':')) return 1024.0 * static_cast<double>(std::stoull(line.substr(name.size() + 1)));
    fail("a line of /proc/self/status is missing");
}

/// For a process that does nothing else.
template <class F>
void measure_peak(const request& r, const std::string& variant, F&& once) {
    measure(r, {variant + "/peak-memory", r.n, "KiB"}, [&] { return once(r.n), memory("VmHWM") / 1024; });
}

/// What a crowd that waits for one event holds meanwhile. `park` starts n and returns when all wait; `wake` when all have ended.
template <class Park, class Wake>
void measure_parked(const request& r, Park&& park, Wake&& wake) {
    const auto each = static_cast<double>(r.n);
    measure(r,
            {{"memory", r.n, "B"},
             {"memory-and-page-tables", r.n, "B"},
             {"park", r.n, "ns"},
             {"wake", r.n, "ns"},
             {"park-and-wake", r.n, "ns"}},
            [&] {
                const double resident = memory("VmRSS"), tables = memory("VmPTE");
                const double parking = nanoseconds(park);
                const double held = memory("VmRSS") - resident, mapped = memory("VmPTE") - tables;
                const double waking = nanoseconds(wake);
                return std::vector{held / each, (held + mapped) / each, parking / each, waking / each, (parking + waking) / each};
            });
}

/// The leaves [first, first + count) of skynet.
struct share {
    static constexpr std::uint64_t children = 10;
    std::uint64_t first, count;
    share part(std::uint64_t i) const {
        const auto from = count * i / children, to = count * (i + 1) / children;
        return {first + from, to - from};
    }
};

template <class F>
void measure_skynet(const request& r, const char* variant, F&& tree) {
    measure(r, {variant, r.n, "ms"}, [&] {
        std::uint64_t sum = 0;
        const double time = nanoseconds([&] { sum = tree(share{0, r.n}); });
        if (sum != r.n * (r.n - 1) / 2) fail("skynet added up wrongly");
        return time / 1e6;
    });
}

inline std::uint64_t fib_by_calls(unsigned n) { return n < 2 ? n : fib_by_calls(n - 1) + fib_by_calls(n - 2); }

/// One fork for each call that makes two others.
template <class Fib>
void measure_forkjoin(const request& r, Fib&& fib) {
    const auto n = static_cast<unsigned>(r.n);
    const double forks = std::max(1.0, static_cast<double>(fib_by_calls(n + 1) - 1));
    measure(r, {"spawn-and-join", r.n, "ns"}, [&] {
        std::uint64_t value = 0;
        const double time = nanoseconds([&] { value = fib(n); });
        if (value != fib_by_calls(n)) fail("fib is wrong");
        return time / forks;
    });
}

/// Numbers go around until they are used up; then the end goes around as well. `start(member)` runs member(i) for each i and
/// returns when all have ended; a seat has receive(int&) -> bool, send(int), close().
constexpr std::size_t members = 503;

template <class Seat>
void take_part(Seat& mine, Seat& next) {
    for (int number = 0; mine.receive(number) && number != 0;) next.send(number - 1);
    next.close();
}

struct person {
    struct nutrients {
        int fiber = 0, calcium = 0, iron = 0;
        bool operator==(const nutrients&) const = default;
    };
    nutrients eaten, needs;

    bool satisfied() const { return eaten == needs; }
    void eat() { ++eaten.fiber, ++eaten.calcium, ++eaten.iron; }
};

/// `feed(people)` feeds all of them, each giving way after every bite.
template <class Feed>
void measure_feed(const request& r, Feed&& feed) {
    for (const int nutrients : {10, 100, 1000, 10'000}) {
        const auto suffix = "nutrients-" + std::to_string(nutrients);
        measure(r, {{"yield/" + suffix, r.n, "us"}, {"yield/round-trip/" + suffix, r.n, "ns"}}, [&] {
            std::vector<person> people(r.n, person{{}, {nutrients, nutrients, nutrients}});
            const double time = nanoseconds([&] { feed(people); });
            for (const auto& p : people)
                if (!p.satisfied()) fail("somebody was not fed");
            return std::vector{time / 1e3, time / static_cast<double>(r.n) / nutrients};
        });
    }
}

struct benchmark {
    const char* name;
    void (*run)(const request&);
};

template <std::size_t Count>
int main(int argc, char** argv, const std::array<benchmark, Count>& known) {
    if (argc != 5) fail("usage: peer BENCH WORKERS RUNS N");
    const request r{static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10)),
                    static_cast<unsigned>(std::strtoul(argv[3], nullptr, 10)), std::strtoull(argv[4], nullptr, 10)};
    for (const auto& b : known)
        if (std::strcmp(b.name, argv[1]) == 0) return b.run(r), 0;
    if (std::strncmp(argv[1], "peak-memory/", 12) == 0) return 0;   // `run` asks for each of them; not all make sense
    fail("no such benchmark");
}

}  // namespace peer

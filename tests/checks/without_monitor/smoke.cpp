// smoke.cpp - what a weft without the monitor does and what it refuses, for check_without_monitor.py.
#include <weft/weft.hpp>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>

using namespace std::chrono_literals;

namespace {

int failed = 0;
void expect(bool fact, const char* what) {
    std::printf("%s %s\n", fact ? "ok     " : "FAILED ", what);
    failed += !fact;
}

bool refuses(std::chrono::nanoseconds slice) {
    try {
        weft::runtime rt({.workers = 1, .time_slice = slice});
        return false;
    } catch (const std::invalid_argument& e) {
        return std::string(e.what()).find("WEFT_PREEMPT=OFF") != std::string::npos;
    }
}

/// How many threads of this process have names that end so.
int threads_named(const std::string& end) {
    int n = 0;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::string name;
        std::getline(std::ifstream(task.path() / "comm"), name);
        n += name.ends_with(end);
    }
    return n;
}

void options() {
    expect(refuses(1ms) && refuses(10s), "a time slice that is asked for is refused");
    expect(!refuses(0ns) && !refuses(5ms), "none and the default are not");
    ::setenv("WEFT_TIME_SLICE_US", "2000", 1);
    expect(refuses(0ns), "nor is the variable overlooked");
    ::setenv("WEFT_TIME_SLICE_US", "0", 1);
    expect(!refuses(1ms), "which overrides the option");
    ::unsetenv("WEFT_TIME_SLICE_US");
    ::setenv("WEFT_TORTURE_HAND_OFFS", "1", 1);
    expect(refuses(0ns), "hand-offs at random are refused");
    ::unsetenv("WEFT_TORTURE_HAND_OFFS");
}

int fib(int n) {
    if (n < 2) return n;
    auto left = weft::spawn(fib, n - 1);
    const int right = fib(n - 2);
    return left.join() + right;
}

void fibers() {
    weft::runtime rt({.workers = 2, .name = "bare"});
    rt.run([] {
        expect(fib(15) == 610, "fibers are spawned, stolen and joined");
        weft::channel<int> c(1);
        auto sender = weft::spawn([c]() mutable {
            for (int i = 0; i < 100; ++i) c.send(i);
        });
        int sum = 0;
        for (int i = 0; i < 100; ++i) sum += *c.receive();
        expect(sum == 4950, "they wait for one another");
        weft::this_fiber::sleep_for(2ms);
        bool in_time = false;
        try {
            weft::with_timeout(2ms, [] { weft::this_fiber::sleep_for(1h); });
        } catch (const weft::timeout_error&) {
            in_time = true;
        }
        expect(in_time, "timers fire");
        const auto here = std::this_thread::get_id();
        expect(weft::blocking([] { return std::this_thread::get_id(); }) != here, "a blocking call has a thread of its own");
        auto alone = weft::spawn({.move = weft::migrate::own_carrier}, [] {
            const auto mine = std::this_thread::get_id();
            for (int i = 0; i < 10; ++i) weft::this_fiber::sleep_for(100us);
            return mine == std::this_thread::get_id();
        });
        expect(alone.join(), "and so has a fiber with a carrier of its own");
        auto stopped = weft::spawn([] { weft::this_fiber::sleep_for(1h); });
        stopped.request_stop();
        bool was_stopped = false;
        try {
            stopped.join();
        } catch (const weft::fiber_cancelled&) {
            was_stopped = true;
        }
        expect(was_stopped, "stops arrive");
        weft::spawn([] {
            const auto end = std::chrono::steady_clock::now() + 20ms;
            while (std::chrono::steady_clock::now() < end) {}
        }).join();
    });
    expect(threads_named("/mon") == 0 && threads_named("/hogs") == 0, "no monitor runs, and no reporter");
    expect(threads_named("bare/0") == 1, "although threads are found by their names");
    expect(rt.stats().hand_offs == 0, "no fiber has lost its worker");
}

void simulation() {
    int turns = 0;
    weft::run([&] { weft::with_scope([&](weft::scope& s) { s.spawn([&] { ++turns; }); }); },
              {.simulate = weft::simulation{.seed = 1}});
    expect(turns == 1, "a simulated runtime runs");
}

}  // namespace

int main() {
    options();
    fibers();
    simulation();
    return failed;
}

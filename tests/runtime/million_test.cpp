// million_test.cpp - as many fibers as the documentation promises: asleep, and parked.
#include <gtest/gtest.h>

#include <sys/utsname.h>

#include <atomic>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include <weft/channel.hpp>
#include <weft/runtime.hpp>

#include "support/baton.hpp"
#include "support/eventually.hpp"
#include "support/no_leaks.hpp"
#include "support/random.hpp"
#include "support/scale.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

using steady = std::chrono::steady_clock;

std::size_t available_mib() {
    std::ifstream file("/proc/meminfo");
    for (std::string word; file >> word;)
        if (word == "MemAvailable:") {
            std::size_t kib = 0;
            file >> kib;
            return kib / 1024;
        }
    return 0;
}

/// Linux 6.13 and later mark a page as a guard (MADV_GUARD_INSTALL) in any number of stacks.
bool kernel_guards_any_number() {
    utsname system{};
    int major = 0, minor = 0;
    return ::uname(&system) == 0 && std::sscanf(system.release, "%d.%d", &major, &minor) == 2 &&
           (major > 6 || (major == 6 && minor >= 13));
}

double seconds_since(steady::time_point t) { return std::chrono::duration<double>(steady::now() - t).count(); }

class many : public no_leaks {
protected:
    watched_runtime rt{2};
};

TEST_F(many, fibers_sleep_at_once) {
    constexpr int count = scaled(100'000, 50);
    rt.run([&] {
        const seed seed;
        auto random = seed.of(0);
        std::atomic<int> woke{0}, early{0};
        std::vector<fiber<>> all;
        const auto together = steady::now() + 1s;
        for (int i = 0; i < count; ++i)
            all.push_back(spawn([&, until = together + up_to(random, 200ms)] {
                this_fiber::sleep_until(until);
                early += steady::now() < until;
                ++woke;
            }));
        for (auto& f : all) f.join();
        EXPECT_EQ(woke, count);
        EXPECT_EQ(early, 0);
    });
}

TEST_F(many, fibers_wait_on_channels_while_as_many_sleep) {
    constexpr int count = scaled(100'000, 50), channels = 1000;
    rt.run([&] {
        std::vector<channel<int>> all;
        for (int i = 0; i < channels; ++i) all.emplace_back();
        std::atomic<int> waiting{0}, woke{0};
        std::atomic<long> sum{0};
        std::vector<fiber<>> fibers;
        for (int i = 0; i < count; ++i) {
            fibers.push_back(spawn([&, i] {
                ++waiting;
                sum += all[static_cast<std::size_t>(i % channels)].receive().value();
            }));
            fibers.push_back(spawn([&] {
                ++waiting;
                this_fiber::sleep_for(1h);
            }));
        }
        while (waiting < 2 * count) this_fiber::sleep_for(1ms);
        EXPECT_GE(rt.stats().fibers, 2u * count);
        for (int i = 0; i < count; ++i) all[static_cast<std::size_t>(i % channels)].send(i);
        for (std::size_t i = 0; i < fibers.size(); i += 2) fibers[i].join();
        EXPECT_EQ(sum, long{count} * (count - 1) / 2);
        for (std::size_t i = 1; i < fibers.size(); i += 2) fibers[i].request_stop();
        for (std::size_t i = 1; i < fibers.size(); i += 2) {
            try {
                fibers[i].join();
            } catch (const fiber_cancelled&) {
                ++woke;
            }
        }
        EXPECT_EQ(woke, count);
    });
}

TEST_F(many, sleeping_fibers_are_stopped_at_once) {
    constexpr int count = scaled(100'000, 50);
    for (int i = 0; i < count; ++i) rt.spawn_detached([] { this_fiber::sleep_for(1h); });
    EXPECT_TRUE(rt.shutdown(30s));
}

TEST_F(many, seed_N9_a_million_fibers_are_parked_at_once_timing) {
    // A fiber that waits holds some 5 KB, page tables included. With less memory there are fewer, and what holds of them is the same.
    const int count = sanitized || available_mib() >= 8192 ? scaled(1'000'000, 500) : 200'000;
    std::vector<baton> batons(1000);
    std::atomic<int> waiting{0}, ended{0};
    auto start = steady::now();
    rt.run([&] {
        for (int i = 0; i < count; ++i)
            spawn_detached([&, i] {
                ++waiting;
                batons[static_cast<std::size_t>(i) % batons.size()].take();
                ++ended;
            });
        while (waiting < count) this_fiber::sleep_for(1ms);
    });
    const auto s = rt.stats();
    std::printf("%d parked after %.1f s; stacks in use %zu, without guard %zu\n", count, seconds_since(start), s.stacks_in_use,
                s.stacks_unguarded);
    EXPECT_GE(s.fibers, static_cast<std::uint64_t>(count));
    if (kernel_guards_any_number()) {
        EXPECT_EQ(s.stacks_unguarded, 0u);
    }
    start = steady::now();
    for (int i = 0; i < count; ++i) batons[static_cast<std::size_t>(i) % batons.size()].post();
    while (rt.stats().fibers > 0) std::this_thread::sleep_for(1ms);
    std::printf("all ended after another %.1f s\n", seconds_since(start));
    EXPECT_EQ(ended, count);
}

}  // namespace
}  // namespace weft::test

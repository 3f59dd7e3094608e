// dump_stress_test.cpp - dumps, one after the other and two at once, while fibers are born, wait, are woken, are handed on and end.
#include <weft/dump.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <sstream>
#include <thread>
#include <vector>

#include <weft/channel.hpp>
#include <weft/coroutine.hpp>
#include <weft/mutex.hpp>
#include <weft/scope.hpp>

#include "support/no_leaks.hpp"
#include "support/scale.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

class dumps_stress : public on_workers {};
WEFT_ON_1_2_4_8_WORKERS(dumps_stress);

void spawn_and_join(const std::atomic<bool>& over) {
    while (!over.load(std::memory_order_relaxed))
        with_scope([](scope& s) {
            for (int i = 0; i < 8; ++i)
                s.spawn({.name = "child"}, [i] { i % 2 == 0 ? this_fiber::yield() : this_fiber::sleep_for(20us); });
        });
}

void talk(const std::atomic<bool>& over) {
    channel<int> there(0), back(0);
    auto partner = spawn({.name = "partner"}, [&] {
        while (const auto n = there.receive()) back.send(*n);
    });
    for (int i = 0; !over.load(std::memory_order_relaxed); ++i) {
        there.send(i);
        if (back.receive() != i) throw std::runtime_error("another's answer");
    }
    there.close();
    partner.join();
}

void quarrel(const std::atomic<bool>& over, mutex& m) {
    while (!over.load(std::memory_order_relaxed)) {
        const std::lock_guard mine(m);
        this_fiber::yield();
    }
}

void generate(const std::atomic<bool>& over) {
    coroutine<int()> numbers([&](auto& yield) {
        for (int n = 0;; ++n) {
            this_fiber::sleep_for(10us);
            yield(n);
        }
        return 0;
    });
    for (int n = 0; !over.load(std::memory_order_relaxed); ++n)
        if (numbers() != n) throw std::runtime_error("another number");
}

void expect_sound(const process_snapshot& all) {
    std::set<fiber_id> ids;
    for (const auto& r : all.runtimes)
        for (const auto& f : r.fibers) {
            EXPECT_TRUE(ids.insert(f.id).second) << "twice";
            EXPECT_TRUE(f.state == "created" || f.state == "runnable" || f.state == "running" || f.state == "waiting" ||
                        f.state == "done");
        }
    EXPECT_TRUE(all.cycles.empty());
}

TEST_P(dumps_stress, disturb_nobody) {
    watched_runtime rt(GetParam());
    std::atomic<bool> over{false};
    mutex contended;
    std::vector<fiber<>> all;
    for (int i = 0; i < 3; ++i) {
        all.push_back(rt.spawn({.name = "joiner"}, [&] { spawn_and_join(over); }));
        all.push_back(rt.spawn({.name = "talker"}, [&] { talk(over); }));
        all.push_back(rt.spawn({.name = "quarreller"}, [&] { quarrel(over, contended); }));
        all.push_back(rt.spawn({.name = "generator"}, [&] { generate(over); }));
    }
    std::thread other([&] {
        while (!over.load(std::memory_order_relaxed)) {
            std::ostringstream text;
            dump(text, {.format = dump_format::json});
            EXPECT_FALSE(text.str().empty());
        }
    });
    const auto until = std::chrono::steady_clock::now() + scaled(400, 100) * 1ms;
    while (std::chrono::steady_clock::now() < until) expect_sound(take_snapshot());
    rt.run([] { expect_sound(take_snapshot()); });
    over = true;
    other.join();
    for (auto& f : all) f.join();
}

TEST_P(dumps_stress, of_runtimes_that_come_and_go) {
    std::atomic<bool> over{false};
    std::thread observer([&] {
        while (!over.load(std::memory_order_relaxed)) expect_sound(take_snapshot());
    });
    for (int i = 0; i < scaled(50, 10); ++i) {
        watched_runtime rt(GetParam());
        auto f = rt.spawn([] { this_fiber::sleep_for(100us); });
        f.join();
    }
    over = true;
    observer.join();
}

}  // namespace
}  // namespace weft::test

// dump_test.cpp - what a snapshot says of each fiber, and that it is told truly while they go on.
#include <weft/dump.hpp>

#include <gtest/gtest.h>

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <weft/channel.hpp>
#include <weft/coroutine.hpp>
#include <weft/latch.hpp>
#include <weft/mutex.hpp>
#include <weft/scope.hpp>
#include <weft/shared_mutex.hpp>

#include "arch/sanitizer.hpp"
#include "runtime/dump/code_names.hpp"
#include "support/eventually.hpp"
#include "support/no_leaks.hpp"
#include "support/scale.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

class dumps : public on_workers {};
WEFT_ON_1_2_4_8_WORKERS(dumps);

/// Of the one that has this name; an empty one if none has.
fiber_snapshot named(const process_snapshot& all, std::string_view name) {
    for (const auto& r : all.runtimes)
        for (const auto& f : r.fibers)
            if (f.name == name) return f;
    return {};
}
fiber_snapshot named(std::string_view name) { return named(take_snapshot(), name); }

fiber_snapshot await_named(std::string_view name, std::string_view waits_for) {
    eventually([&] { return named(name).waits_for == waits_for; });
    return named(name);
}

bool goes_through(const fiber_snapshot& f, std::string_view function) {
    detail::code_names names;
    return std::any_of(f.stack.begin(), f.stack.end(),
                       [&](const void* code) { return names.of_caller(code).find(function) != std::string::npos; });
}

[[gnu::noinline]] int wait_deep_inside(channel<int>& c) {
    const auto got = c.receive();
    return got ? *got + 1 : 0;
}

TEST_P(dumps, say_what_a_fiber_waits_for_and_where) {
    watched_runtime rt(GetParam());
    channel<int> c(0);
    const auto line = std::source_location::current().line() + 1;
    auto f = rt.spawn({.name = "deep"}, [&] { return wait_deep_inside(c); });
    const auto seen = await_named("deep", "channel receive");
    EXPECT_EQ(seen.id, f.id());
    EXPECT_EQ(seen.state, "waiting");
    EXPECT_EQ(seen.site.line(), line);
    EXPECT_NE(seen.object, nullptr);
    EXPECT_TRUE(seen.owners.empty());
    EXPECT_TRUE(goes_through(seen, "wait_deep_inside"));
    EXPECT_TRUE(goes_through(seen, "weft_context_base"));  // to the very end
    c.send(1);
    EXPECT_EQ(f.join(), 2);
}

[[gnu::noinline]] int wait_in_a_coroutine(latch& over) {
    over.wait();
    volatile int waited = 1;  // so that this is no jump to wait()
    return waited;
}

[[gnu::noinline]] int call_one_that_waits(latch& over) {
    coroutine<int(int)> inner([&](auto&, int n) { return n + wait_in_a_coroutine(over); });
    return inner(1);
}

TEST_P(dumps, go_from_a_coroutine_to_its_caller) {
    watched_runtime rt(GetParam());
    latch over(1);
    auto f = rt.spawn({.name = "caller"}, [&] { return call_one_that_waits(over); });
    const auto seen = await_named("caller", "latch");
    EXPECT_TRUE(goes_through(seen, "wait_in_a_coroutine"));
    EXPECT_TRUE(goes_through(seen, "call_one_that_waits"));
    over.count_down();
    EXPECT_EQ(f.join(), 2);
}

TEST_P(dumps, know_who_has_what_is_waited_for) {
    watched_runtime rt(GetParam());
    mutex m;
    shared_mutex s;
    latch over(1);
    auto holder = rt.spawn({.name = "holder"}, [&] {
        const std::lock_guard one(m);
        const std::lock_guard two(s);
        over.wait();
    });
    await_named("holder", "latch");
    auto first = rt.spawn({.name = "first"}, [&] { const std::lock_guard wait(m); });
    auto second = rt.spawn({.name = "second"}, [&] { const std::lock_guard wait(s); });
    auto third = rt.spawn({.name = "third"}, [&] { holder.join(); });
    auto fourth = rt.spawn({.name = "fourth"}, [&] {
        with_scope([&](scope& children) { children.spawn({.name = "child"}, [&] { over.wait(); }); });
    });
    const std::vector<fiber_id> its_id = {holder.id()};
    EXPECT_EQ(await_named("first", "mutex").owners, its_id);
    EXPECT_EQ(named("first").object, &m);
    EXPECT_EQ(await_named("second", "shared mutex").owners, its_id);
    EXPECT_EQ(await_named("third", "join").owners, its_id);
    const auto child = await_named("child", "latch");
    EXPECT_EQ(await_named("fourth", "end of scope").owners, std::vector<fiber_id>{child.id});
    EXPECT_TRUE(take_snapshot().cycles.empty());
    over.count_down();
    for (auto* f : {&first, &second, &third, &fourth}) f->join();
}

TEST_P(dumps, a_plain_thread_that_has_a_lock_is_no_owner_in_the_list) {
    watched_runtime rt(GetParam());
    mutex m;
    m.lock();
    auto f = rt.spawn({.name = "waits for a thread"}, [&] { const std::lock_guard wait(m); });
    EXPECT_TRUE(await_named("waits for a thread", "mutex").owners.empty());
    m.unlock();
    f.join();
}

TEST_P(dumps, know_since_when) {
    watched_runtime rt(GetParam());
    latch over(1);
    auto f = rt.spawn({.name = "long"}, [&] { over.wait(); });
    await_named("long", "latch");
    const auto before = named("long").waited;
    std::this_thread::sleep_for(200ms);
    auto g = rt.spawn({.name = "short"}, [&] { over.wait(); });  // by a worker that has slept
    const auto later = await_named("short", "latch").waited;
    const auto after = named("long").waited;
    ASSERT_TRUE(before && after && later);
    EXPECT_GE(*after - *before, 150ms);
    EXPECT_LT(*later, *after);
    EXPECT_LE(*after - *later, 10s);
    EXPECT_GE(*after - *later, 150ms);
    over.count_down();
    f.join();
    g.join();
}

TEST_P(dumps, show_who_runs) {
    watched_runtime rt(GetParam());
    rt.run([] {
        const auto me = named("main");
        EXPECT_EQ(me.state, "running");
        EXPECT_EQ(me.waits_for, "nothing");
        EXPECT_NE(me.thread, 0);
        EXPECT_FALSE(me.waited);
        EXPECT_TRUE(me.stack.empty());
    });
}

TEST_P(dumps, show_those_that_are_alike_once) {
    watched_runtime rt(GetParam());
    channel<int> c(0);
    std::vector<fiber<>> all;
    for (int i = 0; i < 30; ++i) all.push_back(rt.spawn({.name = "eater"}, [&] { (void)c.receive(); }));
    ASSERT_TRUE(eventually([&] { return waiting_for(rt, "channel receive") == 30; }));
    std::ostringstream text;
    dump(text);
    EXPECT_NE(text.str().find("fibers: 30\n30 fibers ("), std::string::npos) << text.str();
    EXPECT_NE(text.str().find("waiting for channel receive at 0x"), std::string::npos) << text.str();
    EXPECT_NE(text.str().find(" and 10 more\n"), std::string::npos) << text.str();
    std::ostringstream without;
    dump(without, {.stacks = stacks::left_out});
    EXPECT_EQ(without.str().find("weft_context_base"), std::string::npos) << without.str();
    c.close();
    for (auto& f : all) f.join();
}

// Alike as they are, who has to act is another.
TEST_P(dumps, say_at_which_object_each_waits) {
    watched_runtime rt(GetParam());
    channel<int> first(0), second(0);
    std::vector<fiber<>> all;
    for (int i = 0; i < 3; ++i) all.push_back(rt.spawn({.name = "w"}, [&c = i == 0 ? first : second] { wait_deep_inside(c); }));
    auto alone = rt.spawn({.name = "alone"}, [&] { wait_deep_inside(first); });
    ASSERT_TRUE(eventually([&] { return waiting_for(rt, "channel receive") == 4; }));
    const auto seen = take_snapshot();
    const auto at = [&](const fiber<>& f) {
        const auto& those = seen.runtimes.front().fibers;
        std::ostringstream address;
        address << std::ranges::find(those, f.id(), &fiber_snapshot::id)->object;
        return address.str();
    };
    const auto numbered = [](const fiber<>& f) { return std::to_string(f.id().value); };
    EXPECT_NE(at(all[0]), at(all[1]));
    EXPECT_EQ(at(all[1]), at(all[2]));
    std::ostringstream to;
    dump(to);
    const auto text = to.str();
    EXPECT_NE(text.find("fiber " + numbered(alone) + " \"alone\" ("), std::string::npos) << text;
    EXPECT_NE(text.find("waiting for channel receive at " + at(alone) + ", for "), std::string::npos) << text;
    EXPECT_NE(text.find("\n3 fibers ("), std::string::npos) << text;
    EXPECT_NE(text.find("\n  these at " + at(all[0]) + ": " + numbered(all[0]) + " \"w\"\n"), std::string::npos) << text;
    const auto both = numbered(all[1]) + " \"w\", " + numbered(all[2]) + " \"w\"",
               turned = numbered(all[2]) + " \"w\", " + numbered(all[1]) + " \"w\"";
    EXPECT_TRUE(text.find("\n  these at " + at(all[1]) + ": " + both + '\n') != std::string::npos ||
                text.find("\n  these at " + at(all[1]) + ": " + turned + '\n') != std::string::npos)
        << text;
    first.close();
    second.close();
    for (auto& f : all) f.join();
    alone.join();
}

// A name may come from anywhere, and a dump be read by whoever looks at a terminal or searches for lines.
TEST_P(dumps, names_break_no_line_and_tell_a_terminal_nothing) {
    watched_runtime rt({.workers = GetParam(), .name = "r\nfiber 1: running"});
    latch over(1);
    std::vector<fiber<>> all;
    for (int i = 0; i < 2; ++i)
        all.push_back(rt.spawn({.name = "z\xc3\xbcgig\nfiber 2: \x1b[31m\x7f\xc2\x9b"}, [&] { over.wait(); }));
    ASSERT_TRUE(eventually([&] { return waiting_for(rt, "latch") == 2; }));
    std::ostringstream text;
    dump(text, {.stacks = stacks::left_out});
    EXPECT_NE(text.str().find("runtime \"r\\x0afiber 1: running\", workers"), std::string::npos) << text.str();
    EXPECT_NE(text.str().find("\"z\xc3\xbcgig\\x0afiber 2: \\x1b[31m\\x7f\\xc2\\x9b\""), std::string::npos) << text.str();
    EXPECT_EQ(std::ranges::count(text.str(), '\n'), 3) << text.str();  // the runtime, the two, their numbers
    over.count_down();
    for (auto& f : all) f.join();
}

TEST(dump, shows_the_stack_of_one_that_runs_if_there_is_a_signal) {
    watched_runtime rt({.workers = 1, .hog_signal = SIGRTMIN + 6});
    std::vector<void*> stack;
    rt.run([&] { stack = named("main").stack; });
#if WEFT_UNDER_TSAN
    EXPECT_LE(stack.size(), 64u);  // it puts handlers off
#else
    EXPECT_FALSE(stack.empty());
#endif
}

TEST(dump, marks_those_that_wait_for_one_another) {
    watched_runtime rt(2);
    mutex a, b;
    latch both(2);
    const auto take = [&both](mutex& mine, mutex& others) {
        const std::lock_guard one(mine);
        both.arrive_and_wait();
        if (others.try_lock_for(2s)) others.unlock();
    };
    auto left = rt.spawn({.name = "left"}, [&] { take(a, b); });
    auto right = rt.spawn({.name = "right"}, [&] { take(b, a); });
    eventually([] { return !take_snapshot().cycles.empty(); });
    const auto all = take_snapshot();
    ASSERT_EQ(all.cycles.size(), 1u);
    auto members = all.cycles.front();
    std::sort(members.begin(), members.end());
    std::vector<fiber_id> both_ids = {left.id(), right.id()};
    std::sort(both_ids.begin(), both_ids.end());
    EXPECT_EQ(members, both_ids);
    std::ostringstream text;
    dump(text);
    EXPECT_NE(text.str().find("\"left\" waits for mutex of fiber " + std::to_string(right.id().value) + " \"right\""),
              std::string::npos)
        << text.str();
    left.join();
    right.join();
}

}  // namespace
}  // namespace weft::test

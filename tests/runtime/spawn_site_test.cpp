// Every way to start a fiber notes where that was, for dumps and reports.
#include <chrono>
#include <functional>
#include <memory>
#include <source_location>
#include <stop_token>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <weft/event.hpp>
#include <weft/fiber.hpp>
#include <weft/runtime.hpp>
#include <weft/scope.hpp>

namespace {

using weft::fiber_id;
using weft::runtime;

std::source_location site_of(fiber_id id) {
    std::source_location found;
    runtime::current()->for_each_fiber([&](const weft::fiber_info& f) {
        if (f.id == id) found = f.site;
    });
    return found;
}

unsigned this_line(std::source_location where = std::source_location::current()) { return where.line(); }
unsigned next_line(std::source_location where = std::source_location::current()) { return where.line() + 1; }

void expect_site(fiber_id id, unsigned line, std::source_location where = std::source_location::current()) {
    const auto site = site_of(id);
    EXPECT_EQ(site.line(), line) << "asked at line " << where.line();
    EXPECT_NE(std::string_view(site.file_name()).find("spawn_site_test"), std::string_view::npos) << site.file_name();
}

void wait_for_ever() { weft::this_fiber::sleep_for(std::chrono::hours(24)); }

/// A body that says whose it is, and waits.
struct told {
    weft::event begun;
    fiber_id who;

    auto body() {
        return [this] {
            who = weft::this_fiber::id();
            begun.set();
            wait_for_ever();
        };
    }
    fiber_id id() {
        begun.wait();
        return who;
    }
};

TEST(spawn_site, is_that_of_the_call_without_attributes) {
    weft::run([] {
        auto& rt = *runtime::current();
        const unsigned plain_line = next_line();
        const auto plain = weft::spawn(wait_for_ever);
        const unsigned of_runtime_line = next_line();
        const auto of_runtime = rt.spawn(wait_for_ever);
        const unsigned in_runtime_line = next_line();
        const auto in_runtime = weft::spawn(rt, wait_for_ever);
        expect_site(plain.id(), plain_line);
        expect_site(of_runtime.id(), of_runtime_line);
        expect_site(in_runtime.id(), in_runtime_line);
        weft::with_scope([](weft::scope& s) {
            const unsigned child_line = next_line();
            auto child = s.spawn(wait_for_ever);
            expect_site(child.id(), child_line);
            s.request_stop();
        });
    });
}

TEST(spawn_site, is_known_of_detached_ones) {
    weft::runtime rt;
    told first, second, third;
    unsigned lines[3];
    rt.run([&] {
        lines[0] = next_line();
        weft::spawn_detached(first.body());
        lines[1] = next_line();
        rt.spawn_detached(second.body());
        lines[2] = next_line();
        weft::spawn_detached(rt, third.body());
        expect_site(first.id(), lines[0]);
        expect_site(second.id(), lines[1]);
        expect_site(third.id(), lines[2]);
    });
    EXPECT_TRUE(rt.shutdown(std::chrono::seconds(30)));
}

TEST(spawn_site, of_main_is_where_run_was_called) {
    const auto check = [](unsigned line) { expect_site(weft::this_fiber::id(), line); };
    weft::run([&, line = this_line()] { check(line); });
    weft::runtime rt;
    rt.run([&, line = this_line()] { check(line); });
}

TEST(spawn_site, is_that_of_the_attributes_if_there_are_any) {
    weft::run([] {
        const unsigned how_line = next_line();
        const weft::attributes how{.name = "named"};
        const auto f = weft::spawn(how, wait_for_ever);
        expect_site(f.id(), how_line);
    });
}

TEST(spawn_site, is_known_of_those_with_up_to_five_arguments) {
    constexpr auto waits = [](auto&&...) { wait_for_ever(); };
    weft::run([&] {
        auto& rt = *runtime::current();
        const unsigned line = next_line();
        const weft::fiber<> one = weft::spawn(waits, 1), two = weft::spawn(waits, 1, 2), three = weft::spawn(waits, 1, 2, 3);
        const unsigned next = next_line();
        const weft::fiber<> four = weft::spawn(waits, 1, 2, 3, 4), five = weft::spawn(waits, 1, 2, 3, 4, 5);
        for (const auto* const f : {&one, &two, &three}) expect_site(f->id(), line);
        for (const auto* const f : {&four, &five}) expect_site(f->id(), next);
        const unsigned of_runtime_line = next_line();
        const auto of_runtime = rt.spawn(waits, std::string("moved"), 2);
        expect_site(of_runtime.id(), of_runtime_line);
        weft::with_scope([&](weft::scope& s) {
            const unsigned child_line = next_line();
            auto child = s.spawn(waits, 1, 2);
            expect_site(child.id(), child_line);
            s.request_stop();
        });
        const auto many = weft::spawn(waits, 1, 2, 3, 4, 5, 6, 7);
        EXPECT_EQ(site_of(many.id()).line(), 0u);
    });
}

TEST(spawn_site, is_known_in_a_named_runtime_with_any_number_of_arguments) {
    constexpr auto waits = [](auto&&...) { wait_for_ever(); };
    weft::run([&] {
        auto& rt = *runtime::current();
        const unsigned line = next_line();
        const weft::fiber<> one = weft::spawn(rt, waits, 1), three = weft::spawn(rt, waits, 1, std::string("moved"), 3);
        const unsigned next = next_line();
        const weft::fiber<> seven = weft::spawn(rt, waits, 1, 2, 3, 4, 5, 6, 7);
        for (const auto* const f : {&one, &three}) expect_site(f->id(), line);
        expect_site(seven.id(), next);
    });
}

TEST(spawn_site, is_known_of_detached_ones_with_arguments) {
    weft::runtime rt;
    told first, second, third;
    unsigned lines[3];
    constexpr auto calls = [](auto body, int) { body(); };
    rt.run([&] {
        lines[0] = next_line();
        weft::spawn_detached(calls, first.body(), 1);
        lines[1] = next_line();
        rt.spawn_detached(calls, second.body(), 1);
        lines[2] = next_line();
        weft::spawn_detached(rt, calls, third.body(), 1);
        expect_site(first.id(), lines[0]);
        expect_site(second.id(), lines[1]);
        expect_site(third.id(), lines[2]);
    });
    EXPECT_TRUE(rt.shutdown(std::chrono::seconds(30)));
}

// Each of these forms was there before the places of arguments were known.
TEST(spawn_site, does_not_change_which_calls_compile) {
    struct counter {
        int n = 0;
        int add(int by) { return n += by; }
    };
    weft::run([] {
        counter c;
        EXPECT_EQ(weft::spawn(&counter::add, &c, 2).join(), 2);
        EXPECT_EQ(weft::spawn(&counter::add, std::ref(c), 3).join(), 5);
        const auto takes_token = [](const std::stop_token& t, int n) { return t.stop_possible() ? n : 0; };
        EXPECT_EQ(weft::spawn(takes_token, 7).join(), 7);
        EXPECT_EQ(weft::spawn([](std::unique_ptr<int> p) { return *p; }, std::make_unique<int>(8)).join(), 8);
        const weft::attributes how{.name = "named"};
        EXPECT_EQ(weft::spawn(how, &counter::add, &c, 1).join(), 6);
        weft::attributes changing{.name = "named"};
        EXPECT_EQ(weft::spawn(changing, &counter::add, &c, 1).join(), 7);
        EXPECT_EQ(weft::spawn({.name = "braces"}, &counter::add, &c, 1).join(), 8);
        auto& rt = *runtime::current();
        EXPECT_EQ(weft::spawn(rt, &counter::add, &c, 1).join(), 9);
        EXPECT_EQ(weft::spawn(rt, how, &counter::add, &c, 1).join(), 10);
        EXPECT_EQ(weft::spawn(rt, {.name = "braces"}, &counter::add, &c, 1).join(), 11);
        EXPECT_EQ(weft::spawn(rt, takes_token, 7).join(), 7);
        const auto are_same = [](runtime* of, runtime& same) { return of == &same; };
        EXPECT_TRUE(weft::spawn(are_same, &rt, std::ref(rt)).join());
        EXPECT_TRUE(weft::spawn(rt, are_same, &rt, std::ref(rt)).join());
        int local = 0;
        weft::spawn([](int& n, int by) { n += by; }, std::ref(local), 4).join();
        EXPECT_EQ(local, 4);
        const char text[] = "text";
        EXPECT_EQ(weft::spawn([](const std::string& s) { return s.size(); }, text).join(), 4u);
    });
}

TEST(spawn_site, of_a_body_with_no_room_in_its_block_is_known_too) {
    struct large {
        char bytes[1000] = {};
        void operator()() const { wait_for_ever(); }
    };
    weft::run([] {
        const unsigned line = next_line();
        const auto f = weft::spawn(large{});
        expect_site(f.id(), line);
        weft::with_scope([](weft::scope& s) {
            const unsigned child_line = next_line();
            auto child = s.spawn(large{});
            expect_site(child.id(), child_line);
            s.request_stop();
        });
    });
}

}  // namespace

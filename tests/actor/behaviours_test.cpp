// behaviours_test.cpp - state machines and event sources, alone and as actors.
#include <weft/event_source.hpp>
#include <weft/state_machine.hpp>
#include <weft/supervisor.hpp>

#include "actor/actors.hpp"

#include <type_traits>

namespace weft::test {
namespace {

// A turnstile.

struct coin {
    int cents;
};
struct push {};
struct kick {};

struct unlocked;
struct broken;

struct locked {
    int taken = 0;
    std::optional<std::variant<unlocked, broken>> on(coin c);
};
struct unlocked {
    int taken;
    locked on(push) { return locked{taken}; }
    void on(const coin& c) { taken += c.cents; }
};
struct broken {
    std::vector<std::string>* log;
    void entered() {
        if (log) log->push_back("entered");
    }
    void left() {
        if (log) log->push_back("left");
    }
    template <class E>
    void on(const unexpected<E>&) {
        if (log) log->push_back("ignored");
    }
    locked on(kick) { return {}; }
};

std::optional<std::variant<unlocked, broken>> locked::on(coin c) {
    taken += c.cents;
    if (c.cents < 0) return broken{nullptr};
    if (taken < 100) return std::nullopt;
    return unlocked{taken};
}

using turnstile = state_machine<locked, unlocked, broken>;
static_assert(detail::takes<turnstile, coin> && !detail::takes<state_machine<locked, unlocked>, int>);

TEST(state_machine, seed_Q8_events_lead_from_state_to_state) {
    turnstile t;
    EXPECT_TRUE(t.in<locked>());
    t.handle(coin{60});
    EXPECT_TRUE(t.in<locked>());  // an empty optional stays
    t.handle(coin{60});
    ASSERT_TRUE(t.in<unlocked>());
    t.handle(coin{5});
    EXPECT_EQ(t.get_if<unlocked>()->taken, 125);
    t.handle(push{});
    EXPECT_TRUE(t.in<locked>());
    EXPECT_EQ(t.get_if<unlocked>(), nullptr);
}

TEST(state_machine, seed_Q8_an_event_out_of_place_is_refused_and_changes_nothing) {
    turnstile t;
    EXPECT_THROW(t.handle(push{}), unexpected_event);
    EXPECT_TRUE(t.in<locked>());
}

TEST(state_machine, seed_Q8_states_are_told_when_they_begin_and_end_and_may_take_the_rest) {
    std::vector<std::string> log;
    turnstile t(broken{&log});
    t.handle(push{});
    t.handle(coin{1});
    t.handle(kick{});
    EXPECT_TRUE(t.in<locked>());
    EXPECT_EQ(log, (std::vector<std::string>{"entered", "ignored", "ignored", "left"}));
}

using behaviours = actors;
WEFT_ON_1_2_4_8_WORKERS(behaviours);

TEST_P(behaviours, seed_Q8_a_state_machine_is_an_actor_and_begins_anew_when_it_is_restarted) {
    rt.run([&] {
        supervisor s;
        const auto t = s.start<turnstile>({.name = "turnstile"}, locked{50});
        t.ask(coin{50});
        t.ask(push{});  // it was unlocked
        EXPECT_THROW(t.ask(push{}), actor_gone);  // locked: unexpected_event
        t.ask(coin{50});
        t.ask(push{});
    });
}

// Events.

TEST_P(behaviours, seed_Q8_each_handler_gets_each_event_in_order) {
    rt.run([&] {
        const event_source<int> numbers({.name = "numbers"});
        std::vector<int> first, second;
        const auto a = numbers.add([&](int n) { first.push_back(n); });
        numbers.notify(1);
        numbers.add([&](const int& n) { second.push_back(10 * n); });
        numbers.notify(2);
        numbers.notify_and_wait(3);
        EXPECT_EQ(first, (std::vector<int>{1, 2, 3}));
        EXPECT_EQ(second, (std::vector<int>{20, 30}));
        EXPECT_EQ(numbers.size(), 2u);
        EXPECT_TRUE(numbers.remove(a));
        EXPECT_FALSE(numbers.remove(a));
        numbers.notify_and_wait(4);
        EXPECT_EQ(first.size(), 3u);
        EXPECT_EQ(second.size(), 3u);
        numbers.stop();
        EXPECT_EQ(end_of(numbers.as_actor().monitor()), "stopped");
        EXPECT_THROW(numbers.notify(5), actor_gone);
    });
}

TEST_P(behaviours, seed_Q8_a_handler_that_throws_goes_and_the_others_stay) {
    const event_source<std::string> words(rt, {.name = "words"});
    int heard = 0;
    words.add([](const std::string& w) {
        if (w == "bad") throw std::runtime_error("a bad word");
    });
    words.add([&](const std::string&) { ++heard; });
    words.notify_and_wait("good");
    words.notify_and_wait("bad");
    words.notify_and_wait("good");
    EXPECT_EQ(heard, 3);
    EXPECT_EQ(words.size(), 1u);
    EXPECT_EQ(reported(), std::vector<std::string>{"failed: a bad word"});
}

TEST_P(behaviours, seed_Q8_a_handler_may_notify_and_is_told_if_it_waits_for_itself) {
    rt.run([&] {
        const event_source<int> countdown;
        std::vector<int> seen;
        countdown.add([&](int n) {
            seen.push_back(n);
            if (n > 0)
                countdown.notify(n - 1);
            else
                countdown.add([](int) {});
        });
        countdown.notify_and_wait(2);
        EXPECT_TRUE(eventually_here([&] { return countdown.size() == 0; }));
        EXPECT_EQ(seen, (std::vector<int>{2, 1, 0}));
    });
    EXPECT_EQ(reported(), std::vector<std::string>{"failed: weft: actor \"\" asks itself"});
}

}  // namespace
}  // namespace weft::test

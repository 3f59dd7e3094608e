// bad_input_test.cpp - what becomes of contracts that users of actors break: the documented exception, or a line that names rule and state.
#include <weft/supervisor.hpp>

#include "actor/actors.hpp"

#include <limits>

namespace weft::test {
namespace {

using bad_input_actors = actors;
WEFT_ON_1_2_4_8_WORKERS(bad_input_actors);

TEST_P(bad_input_actors, seed_Q8_a_supervisor_over_its_limit_ends_its_children_and_says_so) {
    rt.run([&] {
        supervisor s({.max_restarts = 0, .within = 60s, .name = "bank"});
        const auto end = s.monitor();
        const auto ann = s.start<account>({.name = "ann"}, 1);
        EXPECT_THROW(ann.ask(account::fail{"broke"}), actor_gone);
        EXPECT_EQ(
            end_of(end),
            "failed: weft: supervisor \"bank\" gives up: more than 0 restarts in 60000 ms; at last child \"ann\" failed: broke");
        EXPECT_TRUE(s.failed());
        EXPECT_THROW(ann.send(account::deposit{1}), actor_gone);
        EXPECT_THROW(ann.ask(account::balance{}), actor_gone);
        EXPECT_THROW(static_cast<void>(s.start<account>({}, 1)), actor_gone);
        try {
            std::rethrow_exception(s.monitor().receive()->failure);
        } catch (const restart_limit& e) {
            EXPECT_NE(std::string(e.what()).find("gives up"), std::string::npos);
        }
    });
}

TEST_P(bad_input_actors, absurd_mailboxes) {
    rt.run([&] {
        EXPECT_THROW(static_cast<void>(spawn_actor<account>({.mailbox = 0}, 1)), std::invalid_argument);
        constexpr auto most = std::numeric_limits<std::size_t>::max();
        for (const auto capacity : {most, most - 1, most / 2 + 1}) {
            const auto ann = spawn_actor<account>({.mailbox = capacity}, 1);
            for (int i = 0; i < 100; ++i) ann.send(account::deposit{1});
            EXPECT_EQ(ann.ask(account::balance{}), 101);
        }
    });
}

TEST_P(bad_input_actors, an_actor_that_asks_itself_is_told) {
    rt.run([&] {
        const auto w = spawn_actor<worker>({.name = "w"});
        std::string told;
        w.ask(worker::task([&] { told = thrown_by<actor_deadlock>([] { self<worker>().ask(worker::task([] {})); }); }));
        EXPECT_NE(told.find("actor \"w\" asks itself"), std::string::npos) << told;
    });
}

TEST(bad_input_actors_death, the_line_names_the_actors_fiber) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(run([] {
                     const auto w = spawn_actor<worker>({.name = "culprit"});
                     w.ask(worker::task([] { static_cast<void>(self<account>()); }));
                 }),
                 "weft: fatal: self<A>\\(\\): the actor is no A \\[in culprit, fiber [0-9]+\\]");
}

}  // namespace
}  // namespace weft::test

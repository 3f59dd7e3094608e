// hooks_test.cpp - a hook of actors that throws harms nobody.
#include <weft/dead_letter.hpp>
#include <weft/supervisor.hpp>

#include "actor/actors.hpp"

#include <stdexcept>
#include <string>

namespace weft::test {
namespace {

class hooks_of_actors : public actors {};
WEFT_ON_1_2_4_8_WORKERS(hooks_of_actors);

TEST_P(hooks_of_actors, an_on_end_that_throws_stops_no_restart) {
    ::testing::internal::CaptureStderr();
    rt.run([] {
        supervisor s({.on_end = [](const child_report&) { throw std::runtime_error("no ink"); }});
        const auto ann = s.start<account>({.name = "ann"}, 100);
        ann.send(account::fail{"broke"});
        EXPECT_EQ(ann.ask(account::balance{}), 100);
        EXPECT_FALSE(s.failed());
    });
    const auto said = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("weft: on_end has thrown: no ink\n"), std::string::npos) << said;
}

TEST_P(hooks_of_actors, an_on_dead_letter_that_throws_ends_no_program) {
    const auto before_all = dead_letters();
    const auto before = on_dead_letter([](const dead_letter&) { throw std::runtime_error("no post today"); });
    rt.run([] {
        const auto a = spawn_actor<int>({.name = "w"}, [](mailbox<int>& in) { in.receive_if([](int n) { return n == 2; }); });
        a.send(1);  // is left in the mailbox
        a.send(2);
        EXPECT_EQ(end_of(a.monitor()), "normal");
    });
    on_dead_letter(before);
    EXPECT_EQ(dead_letters() - before_all, 1u);
}

}  // namespace
}  // namespace weft::test

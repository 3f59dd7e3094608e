// timed_receive_test.cpp - receives of an actor that tell a timeout from the end of the mailbox.
#include "actor/actors.hpp"

#include <variant>

namespace weft::test {
namespace {

using timed_receives = actors;
WEFT_ON_1_2_4_8_WORKERS(timed_receives);

constexpr auto is_three = [](int n) { return n == 3; };

TEST_P(timed_receives, of_a_mailbox_tell_a_timeout_from_the_end) {
    rt.run([&] {
        gate empty, go_on;
        const auto a = spawn_actor<int>([=](mailbox<int>& in) mutable {
            int out = 7;
            EXPECT_EQ(in.try_receive_op(out), channel_op::empty);
            EXPECT_EQ(in.receive_for(out, 1ms), channel_op::timeout);
            EXPECT_EQ(in.receive_if(out, is_three, 1ms), channel_op::timeout);
            EXPECT_EQ(out, 7);
            empty.open();
            go_on.pass();
            EXPECT_EQ(in.receive_if(out, is_three, 10s), channel_op::done);
            EXPECT_EQ(out, 3);
            EXPECT_EQ(in.receive_if(out, is_three, 10s), channel_op::closed);  // what is left does not fit
            EXPECT_EQ(in.receive_for(out, 10s), channel_op::done);
            EXPECT_EQ(out, 1);
            EXPECT_EQ(in.try_receive_op(out), channel_op::done);
            EXPECT_EQ(out, 2);
            EXPECT_EQ(in.try_receive_op(out), channel_op::closed);
            EXPECT_EQ(in.receive_for(out, 10s), channel_op::closed);
            EXPECT_EQ(out, 2);
        });
        const auto end = a.monitor();
        empty.pass();
        for (const int n : {1, 2, 3}) a.send(n);
        a.close();
        go_on.open();
        EXPECT_EQ(end_of(end), "normal");
    });
}

TEST_P(timed_receives, have_a_point_in_time_wherever_they_have_a_duration) {
    rt.run([&] {
        const auto soon = std::chrono::steady_clock::now() + 2ms;
        const auto later = std::chrono::system_clock::now() + 1h;
        gate empty, go_on;
        const auto a = spawn_actor<int>([=](mailbox<int>& in) mutable {
            int out = 7;
            EXPECT_EQ(in.receive_until(out, soon), channel_op::timeout);
            EXPECT_GE(std::chrono::steady_clock::now(), soon);
            EXPECT_EQ(in.receive_until(soon), std::nullopt);
            EXPECT_EQ(in.receive_if(is_three, soon), std::nullopt);
            EXPECT_EQ(in.receive_if(out, is_three, soon), channel_op::timeout);
            EXPECT_EQ(receive<int>(soon), std::nullopt);
            EXPECT_EQ(receive<int>(out, is_three, soon), channel_op::timeout);
            EXPECT_EQ(out, 7);
            empty.open();
            go_on.pass();
            EXPECT_EQ(in.receive_if(out, is_three, later), channel_op::done);
            EXPECT_EQ(out, 3);
            EXPECT_EQ(in.receive_until(later), 1);
            EXPECT_EQ(in.receive_until(out, soon), channel_op::done);  // a point that has passed
            EXPECT_EQ(out, 2);
            EXPECT_EQ(receive<int>(later), 4);
            EXPECT_EQ(in.receive_until(out, later), channel_op::closed);
        });
        const auto end = a.monitor();
        empty.pass();
        for (const int n : {1, 2, 3, 4}) a.send(n);
        a.close();
        go_on.open();
        EXPECT_EQ(end_of(end), "normal");
    });
}

TEST_P(timed_receives, an_ask_has_a_point_in_time) {
    rt.run([&] {
        const auto ann = spawn_actor<account>(100);
        EXPECT_EQ(ann.ask(account::balance{}, std::chrono::system_clock::now() + 1h), 100);
        gate go_on;
        const auto silent = spawn_actor<int>([=](mailbox<int>& in) mutable {
            go_on.pass();
            for ([[maybe_unused]] const int n : in) in.reply();
        });
        const auto soon = std::chrono::steady_clock::now() + 2ms;
        EXPECT_THROW(silent.ask(1, soon), timeout_error);
        EXPECT_GE(std::chrono::steady_clock::now(), soon);
        go_on.open();
        silent.ask(2, std::chrono::steady_clock::now() + 1h);
    });
}

TEST_P(timed_receives, that_wait_are_told_of_the_end) {
    rt.run([&] {
        for (const bool selective : {false, true}) {
            auto how = channel_op::done;
            const auto a = spawn_actor<int>([&, selective](mailbox<int>& in) {
                int out = 0;
                how = selective ? in.receive_if(out, is_three, 10s) : in.receive_for(out, 10s);
            });
            const auto end = a.monitor();
            EXPECT_TRUE(eventually_here([&] { return waiting_for(rt, "mailbox") == 1; }));
            a.stop();
            EXPECT_EQ(end_of(end), "stopped");
            EXPECT_EQ(how, channel_op::closed);
        }
    });
}

/// Waits for other messages inside a handler.
struct selective {
    struct go {};
    struct tea {
        int cups;
    };
    struct milk {
        int cups;
    };
    std::vector<channel_op>* seen;
    int* cups;
    gate tried;
    selective(std::vector<channel_op>* s, int* c, gate t) : seen(s), cups(c), tried(std::move(t)) {}

    void handle(go) {
        tea out{0};
        seen->push_back(receive<tea>(out, 1ms));
        tried.open();
        seen->push_back(receive<tea>(
            out, [](const tea& t) { return t.cups == 2; }, 10s));
        std::variant<tea, milk> either;
        seen->push_back(receive<tea, milk>(either, 10s));
        *cups = 10 * out.cups + (std::holds_alternative<milk>(either) ? std::get<milk>(either).cups : 0);
        seen->push_back(receive<tea, milk>(
            either, [](const auto&) { return true; }, 10s));
    }
    void handle(const tea&) const {}
    void handle(const milk&) const {}
};

TEST_P(timed_receives, of_chosen_types_tell_a_timeout_from_the_end) {
    rt.run([&] {
        std::vector<channel_op> seen;
        int cups = 0;
        gate tried;
        const auto a = spawn_actor<selective>(&seen, &cups, tried);
        const auto end = a.monitor();
        a.send(selective::go{});
        tried.pass();
        a.send(selective::milk{3});
        a.send(selective::tea{2});
        a.close();
        EXPECT_EQ(end_of(end), "normal");
        EXPECT_EQ(seen, (std::vector{channel_op::timeout, channel_op::done, channel_op::done, channel_op::closed}));
        EXPECT_EQ(cups, 23);
    });
}

}  // namespace
}  // namespace weft::test

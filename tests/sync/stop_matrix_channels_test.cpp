// stop_matrix_channels_test.cpp - channels and select, interrupted in all ways.
#include "support/stop_matrix.hpp"

#include <weft/broadcast.hpp>
#include <weft/select.hpp>
#include <weft/ticker.hpp>
#include <weft/transform.hpp>

using namespace std::chrono_literals;

namespace weft::test::matrix {
namespace {

class interruption_of_a_channel : public interruption {};
TEST_P(interruption_of_a_channel, is_as_documented) { check(); }

constexpr auto nothing = [](auto&&...) {};

std::vector<park_point> of_channels() {
    const auto full = [] {
        channel<int> c(1);
        c.send(0);
        return c;
    };
    return {
        {"send",
         [](scene& s) {
             const channel<int> c;
             s.wait_for_signal([=] { c.receive(); }, [=] { c.send(1); });
         }},
        {"send_into_a_full_one",
         [=](scene& s) {
             const auto c = s.prepare(full);
             s.wait_for_signal([=] { c.receive(); }, [=] { c.send(1); });
         }},
        {"send_for",
         [](scene& s) {
             const channel<int> c;
             s.wait_for_signal([=] { c.receive(); }, [=] { EXPECT_EQ(c.send_for(1, 2h), channel_op::done); });
         }},
        {"send_until",
         [](scene& s) {
             const channel<int> c;
             const auto late = std::chrono::steady_clock::now() + 2h;
             s.wait_for_signal([=] { c.receive(); }, [=] { EXPECT_EQ(c.send_until(1, late), channel_op::done); });
         }},
        {"receive",
         [](scene& s) {
             const channel<int> c;
             s.wait_for_signal([=] { c.send(1); }, [=] { EXPECT_EQ(c.rx().receive(), 1); });
         }},
        {"receive_for",
         [](scene& s) {
             const channel<int> c;
             int v = 0;
             s.wait_for_signal([=] { c.send(1); }, [&] { EXPECT_EQ(c.receive_for(v, 2h), channel_op::done); });
         }},
        {"receive_until",
         [](scene& s) {
             const channel<int> c;
             int v = 0;
             const auto late = std::chrono::steady_clock::now() + 2h;
             s.wait_for_signal([=] { c.send(1); }, [&] { EXPECT_EQ(c.receive_until(v, late), channel_op::done); });
         }},
        {"a_step_of_a_range",
         [](scene& s) {
             const channel<int> c;
             s.wait_for_signal([=] { c.send(1); },
                               [=] {
                                   for (const int v : c) {
                                       EXPECT_EQ(v, 1);
                                       break;
                                   }
                               });
         }},
        {"ticker",
         [](scene& s) {
             const auto tick = after(s.helper(), s.delay());
             s.about_to_wait();
             EXPECT_TRUE(tick.receive().has_value());
         }},
        {"repeating_ticker",
         [](scene& s) {
             const auto ticks = every(s.helper(), s.delay());
             s.about_to_wait();
             EXPECT_TRUE(ticks.receive().has_value());
         }},
        {"broadcast_to_one_without_room",
         [](scene& s) {
             const broadcast<int> news;
             const auto slow = news.subscribe({.capacity = 1});
             s.prepare([&] { news.send(0); });
             s.wait_for_signal([=] { slow.receive(); }, [&] { news.send(1); });
         }},
    };
}

std::vector<park_point> of_select() {
    return {
        {"select_receive",
         [](scene& s) {
             const channel<int> c;
             s.wait_for_signal([=] { c.send(1); }, [=] { select(on_receive(c, nothing)); });
         }},
        {"select_send",
         [](scene& s) {
             const channel<int> c;
             s.wait_for_signal([=] { c.receive(); }, [=] { select(on_send(c, 1)); });
         }},
        {"receive_from_a_transformed_end",
         [](scene& s) {
             const channel<int> c;
             s.wait_for_signal([=] { c.send(1); }, [=] { EXPECT_EQ(transform(c, [](int n) { return n + 1; }).receive(), 2); });
         }},
        {"receive_from_a_mix",
         [](scene& s) {
             const channel<int> c, other;
             s.wait_for_signal([=] { c.send(1); }, [=] { EXPECT_EQ(mix(other, c).receive(), 1); });
         }},
        {"receive_for_from_a_mix",
         [](scene& s) {
             const channel<int> c, other;
             int v = 0;
             s.wait_for_signal([=] { c.send(1); }, [&] { EXPECT_EQ(mix(other, c).receive_for(v, 2h), channel_op::done); });
         }},
        {"select_join",
         [](scene& s) {
             auto f = s.helper().spawn([d = s.delay()] { this_fiber::sleep_for(d); });
             s.about_to_wait();
             select(on_join(f));
         }},
        {"select_timeout",
         [](scene& s) {
             s.about_to_wait();
             select(on_timeout(s.delay()));
         }},
        {"select_stop",
         [](scene& s) {
             std::stop_source other;
             s.wait_for_signal([&] { other.request_stop(); }, [&] { select(on_stop(other.get_token())); });
         }},
        {"select_at_run_time",
         [](scene& s) {
             const channel<int> c;
             std::vector<select_case> cases;
             cases.emplace_back(on_receive(c, nothing));
             s.wait_for_signal([=] { c.send(1); }, [&] { select(cases); });
         }},
        {"select_all",
         [](scene& s) {
             const channel<int> c;
             std::vector<select_case> cases;
             cases.emplace_back(on_receive(c, nothing));
             s.wait_for_signal([=] { c.send(1); }, [&] { EXPECT_EQ(select_all(cases).size(), 1u); });
         }},
        {.name = "select_with_otherwise", .park = [](scene&) { select(otherwise()); }, .waits = park_point::waits::no},
    };
}

const auto name_of_test = [](const auto& each) { return name_of(each.param); };
INSTANTIATE_TEST_SUITE_P(channels, interruption_of_a_channel, ::testing::ValuesIn(rows_of(of_channels())), name_of_test);
INSTANTIATE_TEST_SUITE_P(select, interruption_of_a_channel, ::testing::ValuesIn(rows_of(of_select())), name_of_test);

}  // namespace
}  // namespace weft::test::matrix

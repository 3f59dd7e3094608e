// select_fairness_test.cpp - among the cases that are ready each is as likely as any other, whatever its kind and its place.
#include <weft/select.hpp>

#include <weft/runtime.hpp>

#include <cmath>
#include <numeric>

#include "sync/crew.hpp"

namespace {

using weft::channel;
using weft::on_receive;
using weft::on_send;
using weft::select;
using counts = std::vector<int>;

/// Whether counts like these come about by an even choice: no one is further from its share than seven standard deviations, which
/// happens by chance once in 10^11.
void expect_even(const counts& chosen) {
    const double total = std::accumulate(chosen.begin(), chosen.end(), 0), n = static_cast<double>(chosen.size());
    const double share = total / n, deviation = std::sqrt(share * (1 - 1 / n));
    for (std::size_t i = 0; i < chosen.size(); ++i) EXPECT_NEAR(chosen[i], share, 7 * deviation) << "case " << i;
}

TEST(select_fairness, seed_Q4_each_kind_of_case_has_its_share) {
    weft::run([] {
        channel<int> full(1), room(1), closed;
        closed.close();
        full.send(1);
        std::stop_source stop;
        stop.request_stop();
        auto ended = weft::spawn([] {});
        while (!ended.done()) weft::this_fiber::yield();
        counts chosen(5);
        for (int i = 0; i < 20'000; ++i)
            ++chosen[select(on_receive(full, [&](auto v) { full.send(*v); }), on_send(room, 1, [&] { room.receive(); }),
                            weft::on_stop(stop.get_token()), weft::on_join(ended), on_receive(closed, [](auto) {}))];
        expect_even(chosen);
        ended.join();
    });
}

TEST(select_fairness, seed_Q4_so_it_is_at_run_time_and_between_cases_that_are_not_ready) {
    constexpr std::size_t n = 40;
    std::vector<channel<int>> channels;
    std::vector<weft::select_case> cases;
    for (std::size_t i = 0; i < n; ++i) {
        channels.emplace_back(1);
        cases.emplace_back(on_receive(channels.back(), [](auto) {}));
        if (i % 4 == 0) channels[i].send(0);
    }
    counts chosen(n / 4);
    for (int i = 0; i < 20'000; ++i) {
        const auto c = select(cases);
        ASSERT_EQ(c % 4, 0u);
        ++chosen[c / 4];
        channels[c].send(0);
    }
    expect_even(chosen);
}

TEST(select_fairness, seed_Q4_a_case_that_is_always_ready_starves_no_other) {
    weft::run([] {
        channel<int> noise(1), rare;
        noise.send(0);
        auto asks = weft::spawn([&] {
            for (int i = 0; i < 1'000; ++i) rare.send(i);
        });
        int heard = 0;
        for (long tries = 0; heard < 1'000; ++tries) {
            ASSERT_LT(tries, 100'000'000);
            select(on_receive(noise, [&](auto v) { noise.send(*v); }), on_receive(rare, [&](auto v) { heard += v.has_value(); }));
        }
        asks.join();
    });
}

TEST(select_fairness, seed_Q4_selects_that_wait_are_served_oldest_first) {
    const channel<int> c, other;
    crew all;
    std::array<std::atomic<int>, 4> got{};
    for (std::size_t i = 0; i < got.size(); ++i) {
        all.start(party::fiber,
                  [&, i] { select(on_receive(other, [](auto) {}), on_receive(c, [&, i](auto v) { got[i] = *v; })); });
        ASSERT_TRUE(eventually_wait_for(all.runtime(), "select", static_cast<int>(i) + 1));
    }
    for (int i = 1; i <= 4; ++i) EXPECT_TRUE(c.try_send(i));
    all.finish();
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], static_cast<int>(i) + 1);
}

}  // namespace

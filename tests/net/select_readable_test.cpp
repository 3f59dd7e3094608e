// select_readable_test.cpp - streams and listeners as cases of a select, on fibers and on plain threads.
#include <weft/select.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "support/eventually.hpp"
#include "tcp_fixture.hpp"

namespace weft::test {
namespace {

constexpr auto unexpected = [](auto&&...) { ADD_FAILURE() << "this case was not to be chosen"; };

class select_readable : public tcp_test {};
INSTANTIATE_TEST_SUITE_P(everywhere, select_readable, every_place(), name_of);

/// Until the bytes that were sent have arrived.
void await_bytes(tcp::stream& s) { s.wait_readable(); }

TEST_P(select_readable, ask_F1_bytes_are_ready_and_stay_where_they_are) {
    run([] {
        auto l = local_listener();
        connection c(l);
        EXPECT_EQ(select(on_readable(c.far, unexpected), otherwise()), 1u);
        c.near.write_all("abc");
        await_bytes(c.far);
        for (int i = 0; i < 2; ++i) EXPECT_EQ(select(otherwise(unexpected), on_readable(c.far)), 1u);
        std::array<std::byte, 3> three;
        c.far.read_exact(three);
        EXPECT_EQ(select(on_readable(c.far, unexpected), otherwise()), 1u);
    });
}

TEST_P(select_readable, ask_F1_a_wait_ends_when_bytes_come) {
    run([&] {
        auto l = local_listener();
        connection c(l);
        const channel<int> quiet;
        auto peer = beside([&] {
            this_fiber::sleep_for(2ms);
            c.near.write_all("x");
        });
        std::string got;
        EXPECT_EQ(select(on_receive(quiet, unexpected), on_timeout(10s, unexpected),
                         on_readable(c.far,
                                     [&] {
                                         std::array<std::byte, 8> some;
                                         got.assign(reinterpret_cast<const char*>(some.data()), c.far.read_some(some));
                                     })),
                  2u);
        EXPECT_EQ(got.size(), 1u);
        EXPECT_FALSE(quiet.try_send(1)) << "the case that lost still waits";
    });
}

TEST_P(select_readable, ask_F1_a_channel_may_be_first_and_the_stream_goes_on) {
    run([&] {
        auto l = local_listener();
        connection c(l);
        const channel<int> orders;
        auto peer = beside([&] {
            this_fiber::sleep_for(2ms);
            orders.send(5);
            c.near.write_all("x");
        });
        EXPECT_EQ(select(on_readable(c.far, unexpected), on_receive(orders, [](auto v) { EXPECT_EQ(v, 5); })), 1u);
        std::array<std::byte, 8> some;
        EXPECT_EQ(c.far.read_some(some), 1u);
        EXPECT_EQ(select(on_readable(c.far, unexpected), on_timeout(2ms)), 1u);
    });
}

TEST_P(select_readable, ask_F1_the_end_of_the_stream_is_ready) {
    run([&] {
        auto l = local_listener();
        connection c(l);
        auto peer = beside([&] {
            this_fiber::sleep_for(1ms);
            c.near.shutdown(tcp::side::send);
        });
        EXPECT_EQ(select(on_readable(c.far), on_timeout(10s, unexpected)), 0u);
        std::array<std::byte, 8> some;
        EXPECT_EQ(c.far.read_some(some), 0u);
        EXPECT_EQ(select(on_readable(c.far), otherwise(unexpected)), 0u) << "for ever";
    });
}

TEST_P(select_readable, ask_F1_a_connection_makes_a_listener_ready) {
    run([&] {
        auto l = local_listener();
        EXPECT_EQ(select(on_readable(l, unexpected), otherwise()), 1u);
        auto peer = beside([&] {
            this_fiber::sleep_for(1ms);
            tcp::stream::connect(l.local());
        });
        EXPECT_EQ(select(on_timeout(10s, unexpected), on_readable(l)), 1u);
        EXPECT_TRUE(l.accept().is_open());
    });
}

TEST_P(select_readable, ask_F1_what_is_closed_is_ready_and_reading_says_why) {
    run([&] {
        auto l = local_listener();
        connection c(l);
        auto closer = beside([&] {
            this_fiber::sleep_for(2ms);
            c.far.close();
        });
        EXPECT_EQ(select(on_readable(c.far), on_timeout(10s, unexpected)), 0u);
        std::error_code error;
        std::array<std::byte, 8> some;
        c.far.read_some(some, error);
        EXPECT_EQ(error, std::errc::bad_file_descriptor);
        EXPECT_EQ(select(on_readable(c.far), otherwise(unexpected)), 0u);
        EXPECT_EQ(select(on_readable(tcp::stream()), otherwise(unexpected)), 0u);
    });
}

TEST_P(select_readable, ask_F1_deadlines_end_the_wait) {
    run([] {
        auto l = local_listener();
        connection c(l);
        EXPECT_THROW(with_timeout(3ms, [&] { select(on_readable(c.far, unexpected)); }), timeout_error);
    });
}

TEST_P(select_readable, ask_F1_bytes_that_another_reader_takes_are_waited_for_again) {
    run([&] {
        auto l = local_listener();
        connection c(l);
        constexpr int rounds = 200;
        std::atomic<int> taken{0};
        channel<int> over;
        auto thief = beside([&] {  // takes every byte there is, sooner or later
            std::array<std::byte, 8> some;
            while (taken < rounds) taken += static_cast<int>(c.far.read_some(some));
            over.send(0);
        });
        auto writer = beside([&] {
            for (int i = 0; i < rounds; ++i) {
                c.near.write_all("x");
                if (i % 10 == 0) this_fiber::sleep_for(100us);
            }
        });
        for (bool open = true; open;) select(on_readable(c.far), on_receive(over, [&](auto) { open = false; }));
        EXPECT_EQ(taken, rounds);
    });
}

TEST_P(select_readable, ask_F2_one_fiber_serves_many_connections) {
    run([&] {
        constexpr std::size_t n = 50;
        constexpr std::size_t each = 20;
        auto l = local_listener();
        std::vector<std::unique_ptr<connection>> all;
        for (std::size_t i = 0; i < n; ++i) all.push_back(std::make_unique<connection>(l));
        auto writers = beside([&] {
            for (std::size_t round = 0; round < each; ++round)
                for (auto& c : all) c->near.write_all("x");
            for (auto& c : all) c->near.close();
        });
        std::vector<std::size_t> got(n);
        std::vector<bool> open(n, true);
        std::vector<select_case> cases;
        for (std::size_t i = 0; i < n; ++i)
            cases.emplace_back(on_readable(all[i]->far, [&, i] {
                std::array<std::byte, 8> some;
                const auto bytes = all[i]->far.read_some(some);
                got[i] += bytes;
                if (bytes == 0) open[i] = false;
            }));
        while (std::ranges::find(open, true) != open.end()) {
            select_all(cases);
            for (std::size_t i = 0; i < n; ++i)
                if (!open[i]) cases[i] = when(false, on_readable(all[i]->far));
        }
        EXPECT_EQ(got, std::vector<std::size_t>(n, each));
    });
}

TEST(select_readable_fairness, seed_Q4_ask_F1_a_stream_has_its_share_among_other_cases) {
    weft::run([] {
        auto l = local_listener();
        connection c(l);
        c.near.write_all("x");
        await_bytes(c.far);
        channel<int> full(1);
        full.send(1);
        std::array<int, 3> chosen{};
        constexpr int rounds = 6'000;
        for (int i = 0; i < rounds; ++i)
            ++chosen[select(on_readable(c.far), on_receive(full, [&](auto v) { full.send(*v); }), on_readable(c.far))];
        for (const int times : chosen) EXPECT_NEAR(times, rounds / 3, 256);  // seven standard deviations
    });
}

TEST(select_readable_stop, ask_F1_a_stop_ends_the_wait_and_leaves_the_stream) {
    weft::runtime rt({.workers = 2});
    auto l = local_listener();
    connection c(l);
    auto f = rt.spawn([&] { select(on_readable(c.far, unexpected)); });
    ASSERT_TRUE(eventually([&] { return waiting_for(rt, "select") == 1; }));
    f.request_stop();
    EXPECT_THROW(f.join(), fiber_cancelled);
    c.near.write_all("x");
    std::array<std::byte, 8> some;
    EXPECT_EQ(rt.run([&] { return c.far.read_some(some); }), 1u);
}

TEST(select_readable_closing, ask_F1_the_descriptor_outlives_the_select_and_no_longer) {
    const auto before = open_descriptors();
    {
        weft::runtime rt({.workers = 2});
        auto l = local_listener();
        connection c(l);
        std::vector<select_case> kept;
        kept.emplace_back(on_readable(c.far));
        auto f = rt.spawn([&] { select(kept); });
        ASSERT_TRUE(eventually([&] { return waiting_for(rt, "select") == 1; }));
        const auto open = open_descriptors();
        c.far.close();
        f.join();
        EXPECT_EQ(open_descriptors().size(), open.size() - 1) << "a case that is kept keeps nothing open";
    }
    EXPECT_EQ(open_descriptors(), before);
}

TEST(select_readable_end_of_runtime, ask_F1_a_thread_goes_on_when_the_driver_ends) {
    auto l = local_listener();
    connection c(l);
    std::optional<weft::runtime> rt(std::in_place, weft::runtime_options{.workers = 1});
    EXPECT_THROW(rt->run([&] { with_timeout(1ms, [&] { c.far.wait_readable(); }); }), timeout_error);  // which registers it
    std::atomic<bool> ready{false};
    std::thread waits([&] {
        select(on_readable(c.far), on_timeout(10s, unexpected));
        ready = true;
    });
    std::this_thread::sleep_for(2ms);
    rt.reset();
    std::this_thread::sleep_for(2ms);
    EXPECT_FALSE(ready);
    c.near.write_all("x");
    waits.join();
}

TEST(select_readable_with_stops, seed_Q4_ask_F1_stress_bytes_and_stops) {
    const auto seed = std::random_device{}();
    std::printf("seed %u\n", seed);
    std::minstd_rand random(seed);
    weft::runtime rt({.workers = 2});
    auto l = local_listener();
    for (int round = 0; round < 100; ++round) {
        connection c(l);
        const channel<int> ticks;
        std::atomic<long> got{0};
        auto reader = rt.spawn([&] {
            std::array<std::byte, 4> some;
            for (bool open = true; open;)
                select(on_readable(c.far,
                                   [&] {
                                       const auto n = c.far.read_some(some);
                                       got += static_cast<long>(n);
                                       open = n != 0;
                                   }),
                       on_receive(ticks, [](auto) {}));
        });
        auto ticker = rt.spawn([&] {
            for (;;) ticks.send(1);
        });
        long sent = 0;
        for (unsigned i = random() % 20; i-- > 0; ++sent) c.near.write_all("x");
        if (round % 4 == 0) {
            reader.request_stop();
            try {
                reader.join();
            } catch (const fiber_cancelled&) {}
            EXPECT_LE(got, sent);
        } else {
            c.near.close();
            reader.join();
            EXPECT_EQ(got, sent);
        }
    }
}

}  // namespace
}  // namespace weft::test

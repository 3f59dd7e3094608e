// awake_streams_test.cpp - reads that are ended by a sweep: each after its limit, none missed, and nothing that had arrived is lost.
#include "io/awake_streams.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <iostream>
#include <utility>
#include <vector>

#include <weft/net/tcp.hpp>
#include <weft/weft.hpp>

#include "eventually.hpp"
#include "net/support/called_reader.hpp"
#include "no_leaks.hpp"
#include "random.hpp"
#include "scale.hpp"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

/// A connected stream, and its peer.
struct reader : called_reader {
    explicit reader(detail::awake_streams& in) : reader(in, tcp::listener({.host = "127.0.0.1", .port = 0})) {}

    tcp::stream peer;

private:
    reader(detail::awake_streams& in, tcp::listener at) : reader(in, tcp::stream::connect(at.local()), at) {}
    reader(detail::awake_streams& in, tcp::stream near, tcp::listener& at)
        : called_reader(in, at.accept()), peer(std::move(near)) {}
};

class awake_streams : public on_workers {
protected:
    awake_streams() : rt(GetParam()) {}
    watched_runtime rt;
};
WEFT_ON_1_2_4_8_WORKERS(awake_streams);

TEST_P(awake_streams, AWAKE_STREAMS_3_are_called_at_their_limit_and_not_before) {
    rt.run([] {
        detail::awake_streams all(2ms);
        all.end_waits_after(10ms);
        detail::with_sweeps(all, [&] {
            reader r(all);
            for (int i = 0; i < 5; ++i) {
                const auto begin = steady::now();
                EXPECT_EQ(r.read(), std::nullopt);
                EXPECT_GE(steady::now() - begin, 10ms);
            }
        });
    });
}

TEST_P(awake_streams, get_what_arrives_before) {
    rt.run([] {
        detail::awake_streams all(2ms);
        all.end_waits_after(1h);
        detail::with_sweeps(all, [&] {
            reader r(all);
            auto writer = spawn([&] {
                this_fiber::sleep_for(8ms);
                r.peer.write_all("abc");
            });
            EXPECT_EQ(r.read(), "abc");
            writer.join();
        });
    });
}

TEST_P(awake_streams, are_all_called_at_once) {
    rt.run([] {
        detail::awake_streams all;
        all.end_waits_after(1h);
        reader one(all), two(all);
        auto reads = spawn([&] { return one.read(); });
        EXPECT_TRUE(eventually([&] {
            all.call_all();
            return reads.done();
        }));
        EXPECT_EQ(reads.join(), std::nullopt);
        two.peer.write_all("x");
        EXPECT_EQ(two.read(), "x") << "it was busy then";
    });
}

TEST_P(awake_streams, have_no_limit_that_is_shorter_than_two_periods_or_endless) {
    detail::awake_streams all(10ms);
    for (const std::chrono::nanoseconds without : {std::chrono::nanoseconds(19ms), std::chrono::nanoseconds(no_limit)}) {
        all.end_waits_after(without);
        EXPECT_FALSE(all.ends_waits());
    }
    all.end_waits_after(20ms);
    EXPECT_TRUE(all.ends_waits());
}

TEST_P(awake_streams, AWAKE_STREAMS_4_a_wave_is_over_when_few_are_called_or_none_is_left) {
    rt.run([] {
        detail::awake_streams all(2ms, 4);
        all.end_waits_after(4ms);
        detail::with_sweeps(all, [&] {
            const auto fall_asleep = [&](int n) {
                with_scope([&](scope& s) {
                    for (int i = 0; i < n; ++i)
                        s.spawn([&] {
                            reader r(all);
                            EXPECT_EQ(r.read(), std::nullopt);
                        });
                });
            };
            fall_asleep(3);
            EXPECT_EQ(all.waves(), 0u) << "three are no wave";
            fall_asleep(1);
            EXPECT_TRUE(eventually([&] { return all.waves() == 1; })) << "none is left";
            reader busy(all);  // keeps the sweeps going
            fall_asleep(4);
            EXPECT_TRUE(eventually([&] { return all.waves() == 2; })) << "none was called by another sweep";
            fall_asleep(3);
        });
        EXPECT_EQ(all.waves(), 2u);
    });
}

TEST_P(awake_streams, AWAKE_STREAMS_2_stress_no_call_is_missed_and_no_byte_lost) {
    const seed seed;
    constexpr int readers = 16;
    rt.run([&] {
        detail::awake_streams all(200us);
        all.end_waits_after(400us);
        std::atomic<int> calls{0}, bytes{0};
        detail::with_sweeps(all, [&] {
            with_scope([&](scope& s) {
                for (int n = 0; n < readers; ++n)
                    s.spawn([&, n] {
                        auto random = seed.of(static_cast<unsigned>(n));
                        reader r(all);
                        for (int round = 0; round < scaled(200); ++round) {
                            if (random() % 2 == 0) {  // nothing comes, so a call that is missed is a read that never ends
                                if (!r.read()) ++calls;
                                continue;
                            }
                            auto writer = s.spawn([&, after = std::chrono::microseconds(random() % 1000)] {
                                this_fiber::sleep_for(after);
                                r.peer.write_all("x");
                            });
                            while (!r.read()) ++calls;
                            ++bytes;
                            writer.join();
                        }
                    });
            });
        });
        EXPECT_GT(calls, 0);
        EXPECT_GT(bytes, 0);
    });
}

}  // namespace
}  // namespace weft::test

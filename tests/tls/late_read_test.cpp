// late_read_test.cpp - reads over TLS that take their buffer late, and that a sweep ends: none is missed.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <weft/io/copy.hpp>
#include <weft/scope.hpp>
#include <weft/tls/stream.hpp>
#include <weft/weft.hpp>

#include "net/support/called_reader.hpp"
#include "support/eventually.hpp"
#include "support/random.hpp"
#include "support/scale.hpp"
#include "tls/support/both_ends.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

class tls_late_read : public testing::TestWithParam<unsigned> {
protected:
    template <class F>
    void on_fibers(F&& f) {
        runtime rt({.workers = GetParam()});
        rt.run(std::forward<F>(f));
    }

    const tls::context server{server_options()}, client{client_options()};
};
INSTANTIATE_TEST_SUITE_P(workers, tls_late_read, testing::Values(1u, 2u, 4u));

TEST_P(tls_late_read, gets_what_is_there_and_what_comes) {
    on_fibers([&] {
        auto [c, s] = connected(client, server);
        detail::awake_streams all;
        called_reader r(all, std::move(s));
        EXPECT_TRUE(r.can_be_called());
        c.write_all("twelve bytes");
        EXPECT_EQ(r.read(), "twelve b");
        EXPECT_EQ(r.read(), "ytes") << "the rest of the record is inside OpenSSL";
        auto writer = spawn([&, &to = c] {
            this_fiber::sleep_for(5ms);
            to.write_all("late");
        });
        EXPECT_EQ(r.read(), "late");
        writer.join();
        c.close();
        EXPECT_EQ(r.read(), "");
    });
}

TEST_P(tls_late_read, is_ended_by_a_sweep_and_goes_on_later) {
    on_fibers([&] {
        auto [c, s] = connected(client, server);
        detail::awake_streams all(2ms);
        all.end_waits_after(10ms);
        detail::with_sweeps(all, [&, &to = c, &from = s] {
            called_reader r(all, std::move(from));
            for (int i = 0; i < 5; ++i) {
                const auto begin = std::chrono::steady_clock::now();
                EXPECT_EQ(r.read(), std::nullopt);
                EXPECT_GE(std::chrono::steady_clock::now() - begin, 10ms);
            }
            to.write_all("on");
            EXPECT_EQ(r.read(), "on");
        });
    });
}

// A call in the middle of a record: OpenSSL has taken its beginning.
TEST_P(tls_late_read, loses_nothing_of_a_record_in_which_it_was_called) {
    on_fibers([&] {
        auto [near, proxy_near] = tcp_pair();
        auto [proxy_far, far] = tcp_pair();
        detail::awake_streams all;
        all.end_waits_after(1h);
        with_scope([&](scope& passing) {
            std::atomic<bool> halves{false};
            passing.spawn([&, &from = proxy_far, &to = proxy_near] {
                std::error_code gone;  // each end closes when it has read what it wants
                io::copy(from, to, gone);
            });
            passing.spawn([&, &from = proxy_near, &to = proxy_far] {
                std::array<std::byte, 4096> buffer;
                for (std::error_code error;;) {
                    const auto n = from.read_some(buffer, error);
                    if (n == 0 || error) return to.shutdown(io::side::send, error);
                    const auto first = halves ? n / 2 : n;
                    to.write_all(std::span(buffer).first(first), error);
                    if (halves) this_fiber::sleep_for(20ms);
                    to.write_all(std::span(buffer).subspan(first, n - first), error);
                }
            });
            auto accepted =
                passing.spawn([&, below = std::move(far)]() mutable { return tls::stream::accept(std::move(below), server); });
            auto c = tls::stream::connect(std::move(near), client, {.server_name = "localhost"});
            called_reader r(all, accepted.join());
            c.write_all("first");
            EXPECT_EQ(r.read(), "first") << "also takes what was sent before";
            halves = true;
            c.write_all("halves");
            int calls = 0;
            auto calling = passing.spawn([&] {
                for (int i = 0; i < 10; ++i) {
                    all.call_all();
                    this_fiber::sleep_for(1ms);
                }
            });
            std::optional<std::string> got;
            while (!(got = r.read())) ++calls;
            EXPECT_EQ(got, "halves");
            EXPECT_GT(calls, 0);
            calling.join();
            c.close();
            EXPECT_EQ(r.read(), "");
        });
    });
}

/// For a read that must not wait.
struct counted_buffer final : detail::late_buffer {
    std::span<std::byte> take() noexcept override {
        ++taken;
        return room;
    }
    void give_back() noexcept override { ++given_back; }

    std::array<std::byte, 8> room{};
    int taken = 0, given_back = 0;
};

TEST_P(tls_late_read, does_not_wait_while_there_is_something_to_send) {
    on_fibers([&] {
        auto [c, s] = connected(client, server);
        io::byte_stream here(std::move(s));
        const std::vector<std::byte> much(16 * 1024);
        while (here.try_write_some(much)) {}
        counted_buffer buffer;
        std::error_code error;
        EXPECT_EQ(detail::read_late_socket(here, buffer, error), 0u);
        EXPECT_EQ(error, std::errc::not_a_socket) << "no event of the source would end the wait for room";
        EXPECT_EQ(buffer.taken, 1);
        EXPECT_EQ(buffer.given_back, 1);
        with_timeout(10ms, [&] { detail::read_late(here, buffer, error); });
        EXPECT_EQ(error, std::errc::timed_out);
        c.write_all("x");
        EXPECT_EQ(detail::read_late(here, buffer, error), 1u) << error.message();
    });
}

TEST_P(tls_late_read, works_where_no_descriptor_is_below) {
    on_fibers([&] {
        auto [near, far] = tcp_pair();
        // TLS inside of TLS
        auto outer = spawn([&, below = std::move(far)]() mutable { return tls::stream::accept(std::move(below), server); });
        auto c = tls::stream::connect(std::move(near), client, {.server_name = "localhost"});
        auto s = outer.join();
        auto inner = spawn([&, below = std::move(s)]() mutable { return tls::stream::accept(std::move(below), server); });
        auto in_c = tls::stream::connect(io::byte_stream(std::move(c)), client, {.server_name = "localhost"});
        detail::awake_streams all;
        called_reader r(all, inner.join());
        EXPECT_FALSE(r.can_be_called()) << "its wait is one of the outer stream";
        auto writer = spawn([&] {
            this_fiber::sleep_for(5ms);
            in_c.write_all("deep");
        });
        EXPECT_EQ(r.read(), "deep");
        writer.join();
    });
}

TEST_P(tls_late_read, AWAKE_STREAMS_2_stress_no_call_is_missed_and_no_byte_lost) {
    const seed seed;
    on_fibers([&] {
        detail::awake_streams all(200us);
        all.end_waits_after(400us);
        std::atomic<int> calls{0}, bytes{0};
        detail::with_sweeps(all, [&] {
            with_scope([&](scope& s) {
                for (unsigned n = 0; n < 8; ++n)
                    s.spawn([&, n] {
                        auto random = seed.of(n);
                        auto ends = connected(client, server);
                        called_reader r(all, std::move(ends.server));
                        for (int round = 0; round < scaled(100); ++round) {
                            if (random() % 2 == 0) {  // nothing comes, so a call that is missed is a read that never ends
                                if (!r.read()) ++calls;
                                continue;
                            }
                            auto writer = s.spawn([&, after = std::chrono::microseconds(random() % 1000)] {
                                this_fiber::sleep_for(after);
                                ends.client.write_all("x");
                            });
                            std::optional<std::string> got;
                            while (!(got = r.read())) ++calls;
                            EXPECT_EQ(got, "x");
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

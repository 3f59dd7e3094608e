#include "io/source.hpp"

#include <random>

#include "io/operation.hpp"
#include "io/socket_io.hpp"
#include "io_fixture.hpp"
#include "sched/wait/wait.hpp"

namespace weft::test {
namespace {

using detail::io_direction;
using detail::io_source;
using detail::make_source;
using detail::read_wait;
using detail::readiness;
using detail::write_wait;

class source_test : public descriptor_check {
protected:
    void SetUp() override {
        descriptor_check::SetUp();
        pair_ = socket_pair();
        source_ = make_source(pair_[0]);
    }
    void TearDown() override {
        if (source_) source_->drop();
        ::close(pair_[1]);
        descriptor_check::TearDown();
    }
    int fd() const { return pair_[0]; }
    int peer() const { return pair_[1]; }

    std::array<int, 2> pair_{};
    io_source* source_ = nullptr;
};

// Life: every state and every event.

TEST_F(source_test, open_without_operations_close_closes_at_once) {
    source_->close();
    EXPECT_FALSE(is_open(fd()));
    EXPECT_TRUE(source_->closing());
}

TEST_F(source_test, SOURCE_1_open_with_operations_close_keeps_the_descriptor_until_the_last_leave) {
    ASSERT_TRUE(source_->enter());
    ASSERT_TRUE(source_->enter());
    source_->close();
    EXPECT_TRUE(is_open(fd()));
    source_->leave();
    EXPECT_TRUE(is_open(fd()));
    source_->leave();
    EXPECT_FALSE(is_open(fd()));
}

TEST_F(source_test, SOURCE_1_closing_and_closed_refuse_operations) {
    ASSERT_TRUE(source_->enter());
    source_->close();
    EXPECT_FALSE(source_->enter());
    source_->leave();
    EXPECT_FALSE(source_->enter());
}

TEST_F(source_test, open_leave_keeps_it_open) {
    ASSERT_TRUE(source_->enter());
    source_->leave();
    EXPECT_TRUE(is_open(fd()));
    ASSERT_TRUE(source_->enter());
    source_->leave();
}

TEST_F(source_test, close_is_idempotent_in_closing_and_closed) {
    ASSERT_TRUE(source_->enter());
    source_->close();
    source_->close();
    EXPECT_TRUE(is_open(fd()));
    source_->leave();
    source_->close();
    EXPECT_FALSE(is_open(fd()));
}

TEST_F(source_test, SOURCE_2_drop_before_the_last_leave_frees_once) {
    ASSERT_TRUE(source_->enter());
    auto* const s = std::exchange(source_, nullptr);
    s->drop();
    EXPECT_TRUE(is_open(fd()));
    s->leave();
    EXPECT_FALSE(is_open(fd()));
    // free again: the pool hands out the newest first, and twice would be a cycle in it
    const auto other = socket_pair();
    auto* const first = make_source(other[0]);
    auto* const second = make_source(other[1]);
    EXPECT_EQ(first, s);
    EXPECT_NE(second, s);
    first->drop();
    second->drop();
}

TEST_F(source_test, SOURCE_3_a_late_event_finds_the_next_life_and_only_raises_its_count) {
    auto* const s = std::exchange(source_, nullptr);
    s->drop();
    const auto other = socket_pair();
    auto* const reused = make_source(other[0]);
    ASSERT_EQ(reused, s);
    const auto before = reused->events(io_direction::read);
    EXPECT_EQ(s->on_event({.readable = true, .writable = true, .hangup = true}), 0u);
    EXPECT_EQ(reused->events(io_direction::read), before + 1);
    EXPECT_FALSE(reused->closing());
    EXPECT_TRUE(is_open(other[0]));
    reused->drop();
    ::close(other[1]);
}

// Waiting.

TEST_F(source_test, SOURCE_4_an_event_after_the_attempt_is_not_missed) {
    polled_engine d;
    ASSERT_TRUE(source_->enter());
    ASSERT_EQ(source_->attach(), 0);
    const auto seen = source_->events(io_direction::read);
    EXPECT_EQ(source_->on_event({.readable = true, .writable = false, .hangup = false}), 0u);
    EXPECT_EQ(source_->wait(io_direction::read, seen, read_wait), readiness::again);  // does not sleep
    source_->leave();
}

TEST_F(source_test, SOURCE_6_an_event_wakes_all_waiters_of_its_way) {
    polled_engine d;
    ASSERT_TRUE(source_->enter());
    ASSERT_EQ(source_->attach(), 0);
    ASSERT_TRUE(eventually([&] { return source_->events(io_direction::write) != 0; }));
    const auto seen = source_->events(io_direction::read);
    std::atomic<int> woken{0};
    std::vector<std::thread> readers;
    for (int i = 0; i < 3; ++i)
        readers.emplace_back([&] {
            EXPECT_EQ(source_->wait(io_direction::read, seen, read_wait), readiness::again);
            ++woken;
        });
    std::this_thread::sleep_for(20ms);
    EXPECT_EQ(woken, 0);
    EXPECT_EQ(::write(peer(), "x", 1), 1);
    for (auto& t : readers) t.join();
    source_->leave();
}

TEST_F(source_test, close_wakes_the_waiters_of_both_ways) {
    polled_engine d;
    ASSERT_TRUE(source_->enter());
    ASSERT_EQ(source_->attach(), 0);
    ASSERT_TRUE(eventually([&] { return source_->events(io_direction::write) != 0; }));
    const auto read_seen = source_->events(io_direction::read), write_seen = source_->events(io_direction::write);
    std::thread reader([&] { EXPECT_EQ(source_->wait(io_direction::read, read_seen, read_wait), readiness::again); });
    std::thread writer([&] { EXPECT_EQ(source_->wait(io_direction::write, write_seen, write_wait), readiness::again); });
    std::this_thread::sleep_for(10ms);
    source_->close();
    reader.join();
    writer.join();
    EXPECT_TRUE(is_open(fd()));
    source_->leave();
}

TEST_F(source_test, wait_ends_when_its_time_has_come) {
    polled_engine d;
    ASSERT_TRUE(source_->enter());
    ASSERT_EQ(source_->attach(), 0);
    EXPECT_EQ(source_->wait(io_direction::read, source_->events(io_direction::read), read_wait, detail::clock::now() + 5ms),
              readiness::timed_out);
    source_->leave();
}

TEST_F(source_test, SOURCE_5_an_engine_that_ends_hands_its_waiters_over_to_poll) {
    auto d = std::make_unique<polled_engine>();
    ASSERT_TRUE(source_->enter());
    ASSERT_EQ(source_->attach(), 0);
    source_->leave();
    std::thread reader([&] {
        std::byte buffer[8];
        const auto r = detail::receive_some(source_, buffer);
        EXPECT_EQ(r.count, 1u);
        EXPECT_FALSE(r.error);
    });
    std::this_thread::sleep_for(10ms);
    d.reset();
    std::this_thread::sleep_for(10ms);
    EXPECT_EQ(::write(peer(), "x", 1), 1);
    reader.join();
}

TEST_F(source_test, a_source_outlives_its_engine_and_is_closed_later) {
    {
        polled_engine d;
        ASSERT_TRUE(source_->enter());
        ASSERT_EQ(source_->attach(), 0);
        source_->leave();
    }
    source_->close();
    EXPECT_FALSE(is_open(fd()));
}

TEST_F(source_test, without_an_engine_a_thread_waits_in_poll) {
    std::thread writer([&] {
        std::this_thread::sleep_for(20ms);
        EXPECT_EQ(::write(peer(), "x", 1), 1);
    });
    std::byte buffer[8];
    EXPECT_EQ(detail::receive_some(source_, buffer).count, 1u);
    writer.join();
}

TEST_F(source_test, without_an_engine_close_wakes_within_a_slice) {
    std::thread closer([&] {
        std::this_thread::sleep_for(20ms);
        source_->close();
    });
    std::byte buffer[8];
    EXPECT_EQ(detail::receive_some(source_, buffer).error, std::errc::bad_file_descriptor);
    closer.join();
}

TEST_F(source_test, drained_skips_one_attempt_until_the_next_event) {
    const auto seen = source_->events(io_direction::read);
    EXPECT_FALSE(source_->drained(seen));
    source_->set_drained(seen);
    EXPECT_TRUE(source_->drained(seen));
    source_->on_event({.readable = true, .writable = false, .hangup = false});
    EXPECT_FALSE(source_->drained(source_->events(io_direction::read)));
}

TEST_F(source_test, drained_never_hides_a_hangup_reported_before) {
    source_->on_event({.readable = true, .writable = false, .hangup = true});
    source_->set_drained(source_->events(io_direction::read));
    EXPECT_FALSE(source_->drained(source_->events(io_direction::read)));
}

TEST_F(source_test, end_of_stream_after_a_short_read_is_seen) {
    polled_engine d;
    EXPECT_EQ(::write(peer(), "abc", 3), 3);
    ::shutdown(peer(), SHUT_WR);
    std::byte buffer[8];
    EXPECT_EQ(detail::receive_some(source_, buffer).count, 3u);
    const auto end = detail::receive_some(source_, buffer);
    EXPECT_EQ(end.count, 0u);
    EXPECT_FALSE(end.error);
}

TEST_F(source_test, concurrent_operations_and_close_stress) {
    const unsigned seed = std::random_device{}();
    std::cout << "seed " << seed << '\n';
    std::mt19937 random(seed);
    polled_engine d;
    for (int round = 0; round < 200; ++round) {
        const auto fds = socket_pair();
        auto* const s = make_source(fds[0]);
        std::atomic<int> refused{0};
        std::vector<std::thread> users;
        for (int i = 0; i < 2; ++i)
            users.emplace_back([&] {
                std::byte buffer[16];
                for (;;)
                    if (const auto r = detail::receive_some(s, buffer); r.error) {
                        EXPECT_EQ(r.error, std::errc::bad_file_descriptor) << r.error;
                        break;
                    }
                ++refused;
            });
        for (unsigned n = random() % 4; n > 0; --n) EXPECT_EQ(::write(fds[1], "x", 1), 1);
        if (random() % 2) std::this_thread::yield();
        s->close();
        for (auto& t : users) t.join();
        EXPECT_EQ(refused, 2);
        EXPECT_FALSE(is_open(fds[0]));
        s->drop();
        ::close(fds[1]);
    }
}

}  // namespace
}  // namespace weft::test

// engine_test.cpp - what holds for every I/O engine (src/io/engine.hpp): an engine joins the list at the end of the fixture.
#include "io/engine.hpp"

#include "io/source.hpp"
#include "io_fixture.hpp"

namespace weft::test {
namespace {

using detail::clock;
using detail::io_direction;
using detail::never;
using detail::time_point;

struct made_engine {
    const char* name;
    std::unique_ptr<detail::io_engine> (*make)();
};

class io_engines : public descriptor_check, public testing::WithParamInterface<made_engine> {
protected:
    std::unique_ptr<detail::io_engine> make() const { return GetParam().make(); }
};
INSTANTIATE_TEST_SUITE_P(all, io_engines, testing::Values(made_engine{"epoll", detail::make_io_engine}),
                         [](const auto& of) { return std::string(of.param.name); });

TEST_P(io_engines, poll_with_a_time_in_the_past_looks_and_returns) {
    const auto d = make();
    EXPECT_EQ(d->poll(time_point::min()), 0u);
    EXPECT_EQ(d->poll(clock::now() - 1h), 0u);
}

TEST_P(io_engines, poll_returns_when_its_time_has_come_and_not_before) {
    const auto d = make();
    const auto until = clock::now() + 20ms;
    EXPECT_EQ(d->poll(until), 0u);
    EXPECT_GE(clock::now(), until);
}

TEST_P(io_engines, wake_ends_a_poll_under_way) {
    const auto d = make();
    std::atomic<bool> ended{false};
    std::thread poller([&] {
        d->poll(never);
        ended = true;
    });
    std::this_thread::sleep_for(10ms);
    EXPECT_FALSE(ended);
    d->wake();
    poller.join();
}

TEST_P(io_engines, wake_without_a_poll_ends_the_next_one) {
    const auto d = make();
    d->wake();
    EXPECT_EQ(d->poll(never), 0u);
}

TEST_P(io_engines, EPOLL_DRIVER_2_each_wake_after_a_poll_ends_another_poll) {
    const auto d = make();
    for (int i = 0; i < 100; ++i) {
        d->wake();
        d->wake();
        EXPECT_EQ(d->poll(never), 0u);
    }
    EXPECT_EQ(d->poll(clock::now() + 1ms), 0u);
}

TEST_P(io_engines, EPOLL_DRIVER_2_what_the_waker_wrote_is_visible_after_poll_stress) {
    const auto d = make();
    constexpr int rounds = 20'000;
    int handed = 0;  // not atomic: the order comes from the engine
    std::atomic<int> taken{0};
    std::thread waker([&] {
        for (int i = 1; i <= rounds; ++i) {
            while (taken.load(std::memory_order_acquire) != i - 1) std::this_thread::yield();
            handed = i;
            d->wake();
        }
    });
    // A poll may end early, for a wake already seen; one that ends for round i sees i.
    for (int i = 1; i <= rounds; ++i) {
        d->poll(never);
        ASSERT_EQ(handed, i);
        taken.store(i, std::memory_order_release);  // orders the other way only
    }
    waker.join();
}

TEST_P(io_engines, an_event_wakes_the_waiters_of_its_way_only) {
    polled_engine d(make());
    const auto pair = socket_pair();
    auto* const s = detail::make_source(pair[0]);
    ASSERT_TRUE(s->enter());
    ASSERT_EQ(s->attach(), 0);
    ASSERT_TRUE(eventually([&] { return s->events(io_direction::write) != 0; }));  // writable from the start
    const auto seen = s->events(io_direction::read);
    std::atomic<bool> woken{false};
    std::thread reader([&] {
        EXPECT_EQ(s->wait(io_direction::read, seen, detail::read_wait), detail::readiness::again);
        woken = true;
    });
    std::this_thread::sleep_for(10ms);
    EXPECT_FALSE(woken);
    EXPECT_EQ(::write(pair[1], "x", 1), 1);
    reader.join();
    s->leave();
    s->drop();
    ::close(pair[1]);
}

TEST_P(io_engines, takes_more_events_than_one_batch_holds) {
    constexpr std::size_t many = 600;
    const auto d = make();
    std::vector<std::array<int, 2>> pairs;
    std::vector<detail::io_source*> sources;
    for (std::size_t i = 0; i < many; ++i) {
        pairs.push_back(socket_pair());
        sources.push_back(detail::make_source(pairs.back()[0]));
        ASSERT_EQ(d->add(pairs.back()[0], *sources.back()), 0);
    }
    std::vector<std::uint32_t> before;
    for (auto* s : sources) before.push_back(s->events(io_direction::write));
    for (int i = 0; i < 3; ++i) d->poll(time_point::min());
    for (std::size_t i = 0; i < many; ++i) EXPECT_NE(sources[i]->events(io_direction::write), before[i]);
    for (std::size_t i = 0; i < many; ++i) {
        sources[i]->drop();
        ::close(pairs[i][1]);
    }
}

TEST_P(io_engines, refuses_a_descriptor_that_cannot_be_polled) {
    const auto d = make();
    const int fd = ::open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    auto* const s = detail::make_source(fd);
    EXPECT_EQ(d->add(fd, *s), -EPERM);
    s->drop();
}

}  // namespace
}  // namespace weft::test

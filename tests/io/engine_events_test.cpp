// engine_events_test.cpp - what holds for the events of every I/O engine, from add() to remove().
#include "engines.hpp"

namespace weft::test {
namespace {

using detail::clock;
using detail::io_direction;

class io_engine_events : public each_engine {};
INSTANTIATE_TEST_SUITE_P(all, io_engine_events, testing::ValuesIn(all_engines), name_of);

void fill(int fd) {
    constexpr std::array<char, 4096> some{};
    while (::write(fd, some.data(), some.size()) > 0) {}
}

void empty(int fd) {
    std::array<char, 4096> some{};
    while (::read(fd, some.data(), some.size()) > 0) {}
}

/// The ends of a pipe, the one for the source first.
std::array<int, 2> pipe_end(io_direction of_source) {
    std::array<int, 2> ends{-1, -1};
    EXPECT_EQ(::pipe2(ends.data(), O_NONBLOCK | O_CLOEXEC), 0);
    if (of_source == io_direction::write) std::swap(ends[0], ends[1]);
    return ends;
}

TEST_P(io_engine_events, ENGINE_1_add_reports_both_ways_of_what_is_ready_already) {
    connected_source s;
    EXPECT_EQ(::write(s.peer(), "x", 1), 1);
    current_engine d(make());
    const auto reads = s.reads(), writes = s.writes();
    ASSERT_EQ(s.attach(), 0);
    EXPECT_TRUE(poll_until(d.get(), [&] { return s.reads() != reads && s.writes() != writes; }));
}

TEST_P(io_engine_events, ENGINE_1_each_change_to_ready_is_an_event) {
    connected_source s;
    current_engine d(make());
    ASSERT_EQ(s.attach(), 0);
    for (int i = 0; i < 6; ++i) {
        const auto seen = s.reads();
        EXPECT_EQ(::write(s.peer(), "ab", 2), 2);
        ASSERT_TRUE(poll_until(d.get(), [&] { return s.reads() != seen; })) << "round " << i;
        std::array<char, 2> text{};
        EXPECT_EQ(::read(s.fd(), text.data(), text.size()), 2);  // empty now, and no system call has said so
        if (i % 2 == 1) empty(s.fd());  // now one has
    }
}

TEST_P(io_engine_events, ENGINE_1_each_return_of_room_to_write_is_an_event) {
    connected_source s;
    current_engine d(make());
    ASSERT_EQ(s.attach(), 0);
    for (int i = 0; i < 3; ++i) {
        fill(s.fd());
        poll_for_a_while(d.get());
        const auto seen = s.writes();
        empty(s.peer());
        ASSERT_TRUE(poll_until(d.get(), [&] { return s.writes() != seen; })) << "round " << i;
    }
}

TEST_P(io_engine_events, ENGINE_1_holds_during_a_poll_under_way) {
    polled_engine d(make());
    std::this_thread::sleep_for(10ms);
    connected_source s;
    const auto writes = s.writes();
    ASSERT_EQ(s.attach(), 0);
    EXPECT_TRUE(eventually([&] { return s.writes() != writes; }));
    for (int i = 0; i < 10; ++i) {
        std::this_thread::sleep_for(1ms);
        const auto seen = s.reads();
        EXPECT_EQ(::write(s.peer(), "x", 1), 1);
        ASSERT_TRUE(eventually([&] { return s.reads() != seen; })) << "round " << i;
        empty(s.fd());
    }
}

TEST_P(io_engine_events, ENGINE_1_a_hang_up_makes_both_ends_of_a_pipe_ready) {
    current_engine d(make());
    connected_source reader(pipe_end(io_direction::read)), writer(pipe_end(io_direction::write));
    fill(writer.fd());
    ASSERT_EQ(reader.attach(), 0);
    ASSERT_EQ(writer.attach(), 0);
    poll_for_a_while(d.get());
    const auto reads = reader.reads(), writes = writer.writes();
    reader.close_peer();
    EXPECT_TRUE(poll_until(d.get(), [&] { return reader.reads() != reads; }));
    writer.close_peer();
    EXPECT_TRUE(poll_until(d.get(), [&] { return writer.writes() != writes; }));
}

TEST_P(io_engine_events, the_end_of_the_peers_side_is_a_hang_up_and_data_is_not) {
    current_engine d(make());
    connected_source s;
    ASSERT_EQ(s.attach(), 0);
    EXPECT_EQ(::write(s.peer(), "x", 1), 1);
    const auto before = s.reads();
    ASSERT_TRUE(poll_until(d.get(), [&] { return s.reads() != before; }));
    const auto of_data = s.reads();
    s->set_drained(of_data);
    EXPECT_TRUE(s->drained(of_data));
    ::shutdown(s.peer(), SHUT_WR);
    ASSERT_TRUE(poll_until(d.get(), [&] { return s.reads() != of_data; }));
    const auto of_end = s.reads();
    s->set_drained(of_end);
    EXPECT_FALSE(s->drained(of_end));
}

TEST_P(io_engine_events, poll_returns_how_many_waiters_it_has_woken) {
    current_engine d(make());
    connected_source one, two;
    ASSERT_EQ(one.attach(), 0);
    ASSERT_EQ(two.attach(), 0);
    poll_for_a_while(d.get());
    std::array<wait_in_place, 3> waits;
    for (auto& w : waits) ASSERT_TRUE(w.begin(&w == &waits[2] ? *two : *one, io_direction::read));
    EXPECT_EQ(::write(one.peer(), "x", 1), 1);
    EXPECT_EQ(::write(two.peer(), "x", 1), 1);
    unsigned woken = 0;
    EXPECT_TRUE(poll_until(d.get(), [&] {
        woken += d.get().poll(clock::now() + 1ms);
        return waits[0].is_over() && waits[1].is_over() && waits[2].is_over();
    }));
    EXPECT_EQ(woken, 3u);
}

TEST_P(io_engine_events, ENGINE_5_whatever_an_event_wakes_may_call_the_engine_at_once) {
    current_engine d(make());
    connected_source s, other;
    ASSERT_EQ(s.attach(), 0);
    poll_for_a_while(d.get());
    std::thread caller;
    std::atomic<int> calls{0};
    int calls_during_the_event = 0;
    wait_in_place wait([&] {
        caller = std::thread([&] {
            d.get().wake();
            ++calls;
            EXPECT_EQ(d.get().add(other.fd(), *other), 0);
            ++calls;
            d.get().remove(other.fd());
            ++calls;
            d.get().remove(s.fd());
            ++calls;
        });
        static_cast<void>(eventually([&] { return calls == 4; }));
        calls_during_the_event = calls;
    });
    ASSERT_TRUE(wait.begin(*s, io_direction::read));
    EXPECT_EQ(::write(s.peer(), "x", 1), 1);
    EXPECT_TRUE(poll_until(d.get(), [&] { return wait.is_over(); }));
    if (caller.joinable()) caller.join();
    EXPECT_EQ(calls_during_the_event, 4);
}

TEST_P(io_engine_events, after_remove_no_event_begins) {
    const auto d = make();
    connected_source s;
    ASSERT_EQ(d->add(s.fd(), *s), 0);
    poll_for_a_while(*d);
    EXPECT_EQ(::write(s.peer(), "x", 1), 1);  // not reported yet
    d->remove(s.fd());
    const auto reads = s.reads(), writes = s.writes();
    poll_for_a_while(*d);
    EXPECT_EQ(::write(s.peer(), "y", 1), 1);
    poll_for_a_while(*d);
    EXPECT_EQ(s.reads(), reads);
    EXPECT_EQ(s.writes(), writes);
}

TEST_P(io_engine_events, after_remove_no_event_begins_in_a_poll_under_way) {
    polled_engine d(make());
    connected_source s;
    const auto before = s.writes();
    ASSERT_EQ(d.get().add(s.fd(), *s), 0);
    ASSERT_TRUE(eventually([&] { return s.writes() != before; }));
    std::this_thread::sleep_for(10ms);
    d.get().remove(s.fd());
    const auto reads = s.reads(), writes = s.writes();
    EXPECT_EQ(::write(s.peer(), "x", 1), 1);
    std::this_thread::sleep_for(10ms);
    EXPECT_EQ(s.reads(), reads);
    EXPECT_EQ(s.writes(), writes);
}

TEST_P(io_engine_events, after_remove_a_descriptor_can_be_added_for_another_source) {
    const auto d = make();
    connected_source first, second;
    ASSERT_EQ(d->add(first.fd(), *first), 0);
    poll_for_a_while(*d);
    d->remove(first.fd());
    const auto old_reads = first.reads(), old_writes = first.writes(), reads = second.reads(), writes = second.writes();
    ASSERT_EQ(d->add(first.fd(), *second), 0);
    EXPECT_TRUE(poll_until(*d, [&] { return second.writes() != writes; }));
    EXPECT_EQ(::write(first.peer(), "x", 1), 1);
    EXPECT_TRUE(poll_until(*d, [&] { return second.reads() != reads; }));
    EXPECT_EQ(first.reads(), old_reads);
    EXPECT_EQ(first.writes(), old_writes);
    d->remove(first.fd());
}

TEST_P(io_engine_events, after_remove_the_file_is_not_kept_open) {
    polled_engine d(make());
    connected_source s;
    const auto before = s.writes();
    ASSERT_EQ(s.attach(), 0);
    ASSERT_TRUE(eventually([&] { return s.writes() != before; }));
    std::this_thread::sleep_for(10ms);
    s->close();
    char byte = 0;
    EXPECT_TRUE(eventually([&] { return ::read(s.peer(), &byte, 1) == 0; }));
}

TEST_P(io_engine_events, a_descriptor_that_was_refused_is_not_added) {
    const auto d = make();
    connected_source s;
    const int number = ::fcntl(s.fd(), F_DUPFD_CLOEXEC, 0);
    ::close(number);
    const auto writes = s.writes();
    EXPECT_EQ(d->add(number, *s), -EBADF);
    EXPECT_EQ(::dup3(s.fd(), number, O_CLOEXEC), number);
    poll_for_a_while(*d);
    EXPECT_EQ(s.writes(), writes);
    ::close(number);
}

TEST_P(io_engine_events, an_event_wakes_the_waiters_of_its_way_only) {
    polled_engine d(make());
    connected_source s;
    const auto before = s.writes();
    ASSERT_EQ(s.attach(), 0);
    ASSERT_TRUE(eventually([&] { return s.writes() != before; }));  // writable from the start
    const auto seen = s.reads();
    std::atomic<bool> woken{false};
    std::thread reader([&] {
        EXPECT_EQ(s->wait(io_direction::read, seen, detail::read_wait, clock::now() + 10s), detail::readiness::again);
        woken = true;
    });
    std::this_thread::sleep_for(10ms);
    EXPECT_FALSE(woken);
    EXPECT_EQ(::write(s.peer(), "x", 1), 1);
    reader.join();
}

TEST_P(io_engine_events, takes_more_events_than_one_batch_holds) {
    constexpr std::size_t many = 600;
    std::vector<std::unique_ptr<connected_source>> sources;
    std::vector<detail::io_source::event_count> before;
    current_engine d(make());
    for (std::size_t i = 0; i < many; ++i) {
        sources.push_back(std::make_unique<connected_source>());
        before.push_back(sources.back()->writes());
        ASSERT_EQ(sources.back()->attach(), 0);
    }
    for (std::size_t i = 0; i < many; ++i)
        ASSERT_TRUE(poll_until(d.get(), [&] { return sources[i]->writes() != before[i]; })) << i;
}

TEST_P(io_engine_events, refuses_a_descriptor_that_cannot_be_polled) {
    const auto d = make();
    const int fd = ::open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    auto* const s = detail::make_source(fd);
    EXPECT_EQ(d->add(fd, *s), -EPERM);
    s->drop();
}

}  // namespace
}  // namespace weft::test

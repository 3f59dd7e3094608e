// engine_test.cpp - what holds for the life of every I/O engine, and for its polls and wakes.
#include "io/engine.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cstring>
#include <set>
#include <system_error>

#include "engines.hpp"
#include "spawn/admission.hpp"
#include "support/scale.hpp"

namespace weft::test {
namespace {

using detail::clock;
using detail::io_direction;
using detail::never;
using detail::time_point;

class io_engines : public each_engine {};
INSTANTIATE_TEST_SUITE_P(all, io_engines, testing::ValuesIn(all_engines), name_of);

TEST_P(io_engines, poll_with_a_time_in_the_past_looks_and_returns) {
    const auto d = make();
    EXPECT_EQ(d->poll(time_point::min()), 0u);
    EXPECT_EQ(d->poll(clock::now() - 1h), 0u);
}

TEST_P(io_engines, poll_with_a_time_in_the_past_reports_what_is_ready) {
    connected_source s;
    current_engine d(make());
    const auto seen = s.writes();
    ASSERT_EQ(s.attach(), 0);
    EXPECT_TRUE(eventually([&] {
        d.get().poll(time_point::min());
        return s.writes() != seen;
    }));
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

TEST_P(io_engines, ENGINE_4_each_wake_after_a_poll_ends_another_poll) {
    const auto d = make();
    for (int i = 0; i < 100; ++i) {
        d->wake();
        d->wake();
        EXPECT_EQ(d->poll(never), 0u);
    }
    EXPECT_EQ(d->poll(clock::now() + 1ms), 0u);
}

TEST_P(io_engines, ENGINE_4_what_the_waker_wrote_is_visible_after_poll_stress) {
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

TEST_P(io_engines, poll_may_come_on_another_thread_each_time) {
    connected_source s;
    current_engine d(make());
    ASSERT_EQ(s.attach(), 0);
    for (int i = 0; i < 4; ++i) {
        const auto seen = s.reads();
        EXPECT_EQ(::write(s.peer(), "x", 1), 1);
        bool reported = false;
        const auto poll = [&] { reported = poll_until(d.get(), [&] { return s.reads() != seen; }); };
        if (i % 2 == 0)
            poll();
        else
            std::thread(poll).join();
        EXPECT_TRUE(reported);
        char byte = 0;
        EXPECT_EQ(::read(s.fd(), &byte, 1), 1);
    }
}

/// How much stack `f` needs: a thread calls it on a stack that this object has painted, and then
/// looks how much of the paint is left. It looks through a second mapping of the same memory, since
/// Valgrind refuses to let a thread read below its stack pointer.
class stack_need {
public:
    explicit stack_need(std::function<void()> f) : f_(std::move(f)) {
        const int memory = ::memfd_create("stack", MFD_CLOEXEC);
        EXPECT_EQ(::ftruncate(memory, room), 0);
        stack_ = map(memory);
        view_ = map(memory);
        ::close(memory);
        std::memset(view_, paint, room);
        pthread_attr_t on_it;
        ::pthread_attr_init(&on_it);
        ::pthread_attr_setstack(&on_it, stack_, room);
        pthread_t thread{};
        EXPECT_EQ(::pthread_create(&thread, &on_it, run, this), 0);
        ::pthread_join(thread, nullptr);
        ::pthread_attr_destroy(&on_it);
        ::munmap(stack_, room);
        ::munmap(view_, room);
    }
    std::ptrdiff_t bytes() const { return bytes_; }

private:
    static constexpr std::size_t room = std::size_t{4} << 20;  // ThreadSanitizer keeps data of each thread there
    static constexpr std::uint8_t paint = 0xa5;

    static std::uint8_t* map(int memory) {
        return static_cast<std::uint8_t*>(::mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0));
    }
    static void* run(void* self) {
        auto& it = *static_cast<stack_need*>(self);
        const auto frame = static_cast<const std::uint8_t*>(__builtin_frame_address(0)) - it.stack_;
        it.f_();
        const auto* const used = std::find_if(it.view_, it.view_ + room, [](std::uint8_t b) { return b != paint; });
        it.bytes_ = frame - (used - it.view_);
        return nullptr;
    }

    const std::function<void()> f_;
    std::uint8_t *stack_ = nullptr, *view_ = nullptr;
    std::ptrdiff_t bytes_ = 0;
};

TEST_P(io_engines, poll_and_wake_need_little_stack) {
    std::vector<std::unique_ptr<connected_source>> sources;
    for (int i = 0; i < 300; ++i) sources.push_back(std::make_unique<connected_source>());
    current_engine d(make());
    const auto use = [&] {
        d.get().wake();
        d.get().poll(clock::now() + 1ms);
        d.get().poll(time_point::min());
    };
    use();  // now the dynamic linker has found the functions, on this stack
    for (auto& s : sources) ASSERT_EQ(s->attach(), 0);
    EXPECT_LE(stack_need(use).bytes(), static_cast<std::ptrdiff_t>(detail::least_stack_bytes / (sanitized ? 1 : 8)));
}

TEST_P(io_engines, making_one_without_descriptors_throws_and_keeps_none) {
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    const auto at_start = open_descriptors();
    bool made = false;
    int refusals = 0;
    for (rlim_t limit = 0; !made && limit < 1024; ++limit) {
        const rlimit few{.rlim_cur = limit, .rlim_max = before.rlim_max};
        EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
        try {
            const auto d = make();
            made = true;
        } catch (const std::system_error& e) {
            ++refusals;
            EXPECT_EQ(e.code(), std::errc::too_many_files_open);
        }
        EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
        ASSERT_EQ(open_descriptors(), at_start);
    }
    EXPECT_TRUE(made);
    EXPECT_GT(refusals, 0);
}

std::set<int> open_numbers() {
    std::set<int> all;
    for (int fd = 0; fd < 1024; ++fd)
        if (is_open(fd)) all.insert(fd);
    return all;
}

TEST_P(io_engines, a_forked_child_has_none_of_its_descriptors) {
    const auto before = open_numbers();
    const auto d = make();
    EXPECT_GT(open_numbers().size(), before.size());
    const pid_t child = ::fork();
    if (child == 0) ::_exit(open_numbers() == before ? 0 : 1);
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST_P(io_engines, ENGINE_2_ENGINE_3_the_engine_works_until_it_is_unpinned) {
    connected_source s, other;
    auto d = std::make_unique<current_engine>(make());
    ASSERT_EQ(s.attach(), 0);
    auto& engine = d->get();
    engine.pin();
    std::atomic<bool> ended{false};
    std::thread ending([&] {
        d.reset();
        ended = true;
    });
    EXPECT_TRUE(eventually([&] { return !s->is_watched(); }));
    std::this_thread::sleep_for(10ms);
    EXPECT_FALSE(ended);
    if (!ended) {
        engine.remove(s.fd());
        EXPECT_EQ(engine.add(other.fd(), *other), 0);
        engine.remove(other.fd());
        engine.unpin();
    }
    ending.join();
}

TEST_P(io_engines, ENGINE_3_an_engine_that_ends_wakes_all_waiters_and_leaves_the_sources_to_another) {
    std::array<connected_source, 3> sources;
    std::array<wait_in_place, 3> waits;
    {
        current_engine d(make());
        for (std::size_t i = 0; i < 3; ++i) {
            ASSERT_EQ(sources[i].attach(), 0);
            ASSERT_TRUE(waits[i].begin(*sources[i], io_direction::read));
        }
    }
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_TRUE(waits[i].is_over());
        ASSERT_FALSE(sources[i]->is_watched());
    }
    current_engine next(make());
    for (auto& s : sources) {
        const auto seen = s.writes();
        ASSERT_EQ(s.attach(), 0);
        EXPECT_TRUE(poll_until(next.get(), [&] { return s.writes() != seen; }));
    }
}

}  // namespace
}  // namespace weft::test

// resumable_test.cpp - a scheduler that knows resume() and done() drives whatever has them (seed
// R9).
#include <weft/resumable.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <coroutine>
#include <deque>
#include <exception>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <weft/channel.hpp>
#include <weft/coroutine.hpp>
#include <weft/fiber.hpp>
#include <weft/generator.hpp>
#include <weft/runtime.hpp>
#include <weft/scope.hpp>

namespace weft {
namespace {

using steps = std::vector<std::string>;

/// A scheduler of somebody else's: it names no type of weft's but the reference.
void in_turn(std::initializer_list<resumable_ref> all) {
    std::deque<resumable_ref> queue;
    for (const auto& one : all)
        if (!one.done()) queue.push_back(one);
    while (!queue.empty()) {
        const auto next = queue.front();
        queue.pop_front();
        next.resume();
        if (!next.done()) queue.push_back(next);
    }
}

/// A class that is a coroutine.
class counter : public coroutine<> {
public:
    explicit counter(steps& log) : coroutine(&counter::count), log_(log) {}
    ~counter() override { unwind(); }

private:
    void count() {
        for (const char* const number : {"one", "two", "three"}) {
            log_.emplace_back(number);
            yield();
        }
    }
    steps& log_;
};

/// A coroutine of the language.
class stackless {
public:
    struct promise_type {
        stackless get_return_object() { return stackless(handle::from_promise(*this)); }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { throw; }
    };
    using handle = std::coroutine_handle<promise_type>;

    explicit stackless(handle h) : handle_(h) {}
    ~stackless() { handle_.destroy(); }
    stackless(const stackless&) = delete;
    stackless& operator=(const stackless&) = delete;
    handle& get() { return handle_; }

private:
    handle handle_;
};

stackless letters(steps& log) {
    log.emplace_back("a");
    co_await std::suspend_always();
    log.emplace_back("b");
}

/// One that steps a range.
template <class Range>
class logged {
public:
    logged(Range range, steps& log) : range_(std::move(range)), log_(log) {}
    void resume() {
        log_.push_back(*at_);
        ++at_;
    }
    bool done() const { return at_ == std::default_sentinel; }

private:
    Range range_;
    typename Range::iterator at_ = range_.begin();
    steps& log_;
};

/// No coroutine of any kind.
struct machine {
    steps& log;
    int left = 2;
    void resume() { log.push_back("machine " + std::to_string(left--)); }
    bool done() const { return left == 0; }
};

struct no_end {
    void resume();
};
struct no_step {
    bool done() const;
};
struct cannot_be_asked {
    void resume();
    bool done();  // not of a const one
};

static_assert(resumable<coroutine<>> && resumable<counter>);
static_assert(resumable<std::coroutine_handle<>> && resumable<const std::coroutine_handle<>> && resumable<stackless::handle>);
static_assert(resumable<machine> && resumable<logged<generator<std::string>>>);
static_assert(resumable<resumable_ref> && resumable<const resumable_ref>);
static_assert(!resumable<int> && !resumable<no_end> && !resumable<no_step> && !resumable<cannot_be_asked>);
static_assert(!resumable<const machine>);

TEST(resumable, seed_R9_one_scheduler_drives_all_kinds_in_turn) {
    steps log;
    counter counts(log);
    auto task = letters(log);
    generator<std::string> end_of_alphabet([](auto& yield) { yield("x"), yield("y"), yield("z"); });
    logged range(std::move(end_of_alphabet), log);
    machine own{log};
    in_turn({counts, task.get(), range, own});
    EXPECT_THAT(log, testing::ElementsAre("one", "a", "x", "machine 2", "two", "b", "y", "machine 1", "three", "z"));
    EXPECT_TRUE(counts.done());
    EXPECT_EQ(counts.state(), coroutine_state::done);
}

TEST(resumable, seed_R9_a_fiber_makes_a_foreign_object_a_fiber) {
    steps log;
    machine one{log, 2}, other{log, 2};
    const auto drive = [](resumable_ref object) {
        for (; !object.done(); this_fiber::yield()) object.resume();
    };
    run(
        [&] {
            with_scope([&](scope& s) {
                s.spawn(drive, resumable_ref(one));
                s.spawn(drive, resumable_ref(other));
            });
        },
        {.workers = 1});
    EXPECT_THAT(log, testing::ElementsAre("machine 2", "machine 2", "machine 1", "machine 1")) << "they take turns";
}

TEST(resumable, a_step_that_parks_parks_the_fiber_of_the_scheduler) {
    steps log;
    run(
        [&] {
            channel<std::string> words;
            with_scope([&](scope& s) {
                s.spawn([&] { words.send("sent by another fiber"); });
                coroutine<> receives([&] { log.push_back(*words.receive()); });
                in_turn({receives});
            });
        },
        {.workers = 1});
    EXPECT_THAT(log, testing::ElementsAre("sent by another fiber"));
}

TEST(resumable, what_a_step_throws_comes_out_of_resume) {
    coroutine<> fails([] {
        coroutine<>::yield();
        throw std::runtime_error("second step");
    });
    const resumable_ref any(fails);
    any.resume();
    EXPECT_FALSE(any.done());
    EXPECT_THROW(any.resume(), std::runtime_error);
    EXPECT_TRUE(any.done());
    EXPECT_THROW(any.resume(), coroutine_done);
}

TEST(resumable, a_reference_to_a_reference_is_a_copy) {
    steps log;
    machine own{log, 2};
    resumable_ref first(own);
    const resumable_ref second(first);
    first.resume();
    second.resume();
    EXPECT_TRUE(own.done());
}

}  // namespace
}  // namespace weft

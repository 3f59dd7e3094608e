// select_watch_test.cpp - what select asks of a thing that becomes ready by itself: looks, events, and an end for every beginning.
#include <weft/select.hpp>

#include <mutex>

#include "fiber/waiter.hpp"
#include "support/no_leaks.hpp"
#include "sync/crew.hpp"

namespace {

using weft::detail::select_watch;
using state = select_watch::state;

/// A descriptor that the test plays.
struct source {
    std::mutex lock;
    state now = state::idle;
    bool ready_once = false;  // the next look finds it ready, those after it do not
    unsigned events = 0;
    int open = 0, looks = 0;
    weft::detail::wait_list waiters;

    void change(state to) {
        const std::lock_guard guard(lock);
        now = to;
    }
    void event() {
        weft::detail::waiter* w;
        {
            const std::lock_guard guard(lock);
            ++events;
            w = waiters.claim_front();
        }
        if (w) w->unpark();
    }
    int looked() {
        const std::lock_guard guard(lock);
        return looks;
    }
};

class played_watch final : public select_watch {
public:
    explicit played_watch(source& s) : source_(s) {}

    void open() noexcept override {
        const std::lock_guard guard(source_.lock);
        ++source_.open;
    }
    state look() noexcept override {
        const std::lock_guard guard(source_.lock);
        ++source_.looks;
        seen_ = source_.events;
        return std::exchange(source_.ready_once, false) ? state::ready : source_.now;
    }
    bool enlist(weft::detail::waiter& w) noexcept override {
        const std::lock_guard guard(source_.lock);
        if (source_.events != seen_) return false;
        source_.waiters.push_back(w);
        return true;
    }
    void delist(weft::detail::waiter& w) noexcept override {
        const std::lock_guard guard(source_.lock);
        source_.waiters.remove(w);
    }
    void close() noexcept override {
        const std::lock_guard guard(source_.lock);
        --source_.open;
    }

private:
    source& source_;
    unsigned seen_ = 0;
};

struct handle {
    source* of;
    friend played_watch watch_readable(const handle& h) { return played_watch(*h.of); }
};

using weft::on_readable;
using weft::on_receive;
using weft::select;

class watched : public testing::Test {
protected:
    ~watched() override { EXPECT_EQ(thing.open, 0) << "SELECT-7: each beginning has an end"; }
    source thing;
    handle it{&thing};
    weft::channel<int> quiet;
};

TEST_F(watched, ask_F1_what_is_ready_at_the_look_is_chosen) {
    EXPECT_EQ(select(on_readable(it), weft::otherwise()), 1u);
    thing.change(state::ready);
    bool ran = false;
    EXPECT_EQ(select(on_receive(quiet, [](auto) {}), on_readable(it, [&] { ran = true; }), weft::otherwise()), 1u);
    EXPECT_TRUE(ran);
    EXPECT_TRUE(thing.waiters.empty());
}

TEST_F(watched, SELECT_6_an_event_that_means_nothing_is_looked_at_and_waited_on) {
    crew all;
    all.start(party::fiber, [&] { EXPECT_EQ(select(on_receive(quiet, [](auto) {}), on_readable(it)), 1u); });
    ASSERT_TRUE(eventually_wait_for(all.runtime(), "select", 1));
    for (int i = 1; i <= 3; ++i) {
        thing.event();
        ASSERT_TRUE(eventually([&] { return thing.looked() > i; }));
        ASSERT_TRUE(eventually_wait_for(all.runtime(), "select", 1));
    }
    thing.change(state::ready);
    thing.event();
    all.finish();
    EXPECT_FALSE(quiet.try_send(1)) << "the case that lost still waits";
}

TEST_F(watched, SELECT_6_an_event_between_look_and_wait_is_not_missed) {
    constexpr int rounds = 2'000;
    std::atomic<int> chosen{0};
    crew all;
    all.start(party::thread, [&] {
        for (int i = 0; i < rounds; ++i) {
            {
                const std::lock_guard guard(thing.lock);
                thing.ready_once = true;
            }
            thing.event();  // while the other looks, enlists, waits or is on its way back
            while (chosen <= i) std::this_thread::yield();
        }
    });
    all.start(party::fiber, [&] {
        for (; chosen < rounds; ++chosen) select(on_readable(it), on_receive(quiet, [](auto) {}));
    });
    all.finish();
    EXPECT_EQ(chosen, rounds);
}

TEST_F(watched, a_channel_ends_the_wait_and_the_watch_is_taken_back) {
    crew all;
    all.start(party::fiber, [&] { EXPECT_EQ(select(on_readable(it), on_receive(quiet, [](auto) {})), 1u); });
    ASSERT_TRUE(eventually_wait_for(all.runtime(), "select", 1));
    EXPECT_TRUE(quiet.try_send(1));
    all.finish();
    EXPECT_TRUE(thing.waiters.empty());
}

TEST_F(watched, a_stop_and_a_timeout_take_it_back) {
    weft::runtime rt({.workers = 2});
    auto f = rt.spawn([&] { select(on_readable(it)); });
    ASSERT_TRUE(eventually_wait_for(rt, "select", 1));
    f.request_stop();
    EXPECT_THROW(f.join(), weft::fiber_cancelled);
    EXPECT_TRUE(thing.waiters.empty());
    EXPECT_EQ(select(on_readable(it), weft::on_timeout(1ms)), 1u);
    EXPECT_TRUE(thing.waiters.empty());
}

TEST_F(watched, what_nobody_watches_is_looked_at_now_and_then) {
    thing.change(state::unwatched);
    EXPECT_EQ(select(on_readable(it), weft::on_timeout(20ms)), 1u) << "a look is no timeout";
    EXPECT_GE(thing.looks, 3);
    crew all;
    all.start(party::thread, [&] { EXPECT_EQ(select(on_readable(it), on_receive(quiet, [](auto) {})), 0u); });
    std::this_thread::sleep_for(3ms);
    thing.change(state::ready);  // without an event
    all.finish();
}

TEST_F(watched, a_case_switched_off_is_not_looked_at) {
    thing.change(state::ready);
    EXPECT_EQ(select(weft::when(false, on_readable(it)), weft::otherwise()), 1u);
    EXPECT_EQ(thing.looks, 0);
}

TEST_F(watched, ask_F2_the_batch_form_has_it_too) {
    std::vector<weft::select_case> cases;
    cases.emplace_back(on_readable(it));
    cases.emplace_back(weft::otherwise());
    EXPECT_EQ(weft::select_all(cases), std::vector<std::size_t>{1});
    thing.change(state::ready);
    EXPECT_EQ(weft::select_all(cases), std::vector<std::size_t>{0});
}

}  // namespace

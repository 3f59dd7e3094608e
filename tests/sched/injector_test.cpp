// injector_test.cpp - the shared run queue keeps the order of arrival and loses nothing.
#include "sched/injector.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "support/scale.hpp"

namespace weft::detail {
namespace {

struct item {
    item* link = nullptr;
    unsigned from = 0;
    int number = 0;
};

TEST(injector, INJECTOR_1_items_leave_in_the_order_in_which_they_came) {
    injector<item> q;
    std::vector<item> items(100);
    for (auto& i : items) q.push(i);
    for (auto& i : items) EXPECT_EQ(q.pop(), &i);
    EXPECT_EQ(q.pop(), nullptr);
}

TEST(injector, INJECTOR_2_knows_its_length) {
    injector<item> q;
    std::vector<item> items(3);
    EXPECT_TRUE(q.empty());
    for (std::size_t i = 0; i < items.size(); ++i) {
        q.push(items[i]);
        EXPECT_EQ(q.size(), i + 1);
        EXPECT_FALSE(q.empty());
    }
    q.pop();
    EXPECT_EQ(q.size(), 2u);
}

TEST(injector, an_item_can_come_back_once_it_has_left) {
    injector<item> q;
    item a, b;
    q.push(a);
    q.push(b);
    for (int i = 0; i < 10; ++i) {
        item* const first = q.pop();
        EXPECT_EQ(first->link, nullptr);
        EXPECT_EQ(first, i % 2 ? &b : &a);
        q.push(*first);
    }
}

TEST(injector, INJECTOR_1_holds_for_each_pusher_among_several_stress) {
    constexpr int each = test::scaled(50'000);
    constexpr unsigned pushers = 3;
    injector<item> q;
    std::vector<std::vector<item>> items(pushers, std::vector<item>(each));
    std::vector<std::thread> threads;
    for (unsigned p = 0; p < pushers; ++p)
        threads.emplace_back([&, p] {
            for (int i = 0; i < each; ++i) {
                auto& mine = items[p][static_cast<std::size_t>(i)];
                mine.from = p;
                mine.number = i;
                q.push(mine);
            }
        });
    std::vector<int> next(pushers, 0);
    for (int got = 0; got < each * static_cast<int>(pushers);) {
        const item* const i = q.pop();
        if (!i) {
            std::this_thread::yield();
            continue;
        }
        ++got;
        EXPECT_EQ(i->number, next[i->from]++);
    }
    for (auto& t : threads) t.join();
    EXPECT_TRUE(q.empty());
}

}  // namespace
}  // namespace weft::detail

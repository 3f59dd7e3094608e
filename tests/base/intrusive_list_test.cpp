// intrusive_list_test.cpp - the list against a deque, by random calls; an element is in one list.
#include "base/intrusive_list.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <random>

#include <gtest/gtest.h>

namespace weft::detail {
namespace {

struct element : list_hook<element> {};

/// The elements from the first to the last.
std::deque<element*> order(const intrusive_list<element>& l) {
    std::deque<element*> found;
    for (auto* e = l.front(); e; e = l.next(*e)) found.push_back(e);
    return found;
}

TEST(intrusive_list, has_the_order_of_a_deque) {
    const auto seed = std::random_device{}();
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    std::array<element, 6> elements;
    intrusive_list<element> list;
    std::deque<element*> model;
    const auto is_in = [&](element& e) { return std::find(model.begin(), model.end(), &e) != model.end(); };
    for (int i = 0; i < 20'000; ++i) {
        auto& e = elements[random() % elements.size()];
        switch (random() % 4) {
            case 0:
                if (is_in(e)) break;
                list.push_back(e);
                model.push_back(&e);
                break;
            case 1:
                if (is_in(e)) break;
                list.push_front(e);
                model.push_front(&e);
                break;
            case 2:  // of an element that is in no list, it does nothing
                list.remove(e);
                model.erase(std::remove(model.begin(), model.end(), &e), model.end());
                break;
            case 3:
                ASSERT_EQ(list.pop_front(), model.empty() ? nullptr : model.front());
                if (!model.empty()) model.pop_front();
        }
        ASSERT_EQ(order(list), model);
        ASSERT_EQ(list.empty(), model.empty());
        for (auto& each : elements) ASSERT_EQ(each.linked(), is_in(each));
    }
}

TEST(intrusive_list, an_element_moves_from_one_list_to_another) {
    element a, b;
    intrusive_list<element> from, to;
    from.push_back(a);
    from.push_back(b);
    to.push_back(*from.pop_front());
    from.remove(b);
    to.push_front(b);
    EXPECT_TRUE(from.empty());
    EXPECT_EQ(order(to), (std::deque<element*>{&b, &a}));
}

TEST(intrusive_list_death_test, an_element_is_in_one_list_at_a_time) {
    element a;
    intrusive_list<element> list, other;
    list.push_back(a);  // alone: its link points to itself
    EXPECT_DEATH(other.push_back(a), "INTRUSIVE_LIST-1");
    EXPECT_DEATH(list.push_front(a), "INTRUSIVE_LIST-1");
}

}  // namespace
}  // namespace weft::detail

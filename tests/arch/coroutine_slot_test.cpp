// coroutine_slot_test.cpp - whose slot is answered.
#include "arch/coroutine_slot.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace weft::detail {
namespace {

coroutine_slot slot_of_somebody;

TEST(coroutine_slot, is_one_per_thread_until_somebody_knows_better) {
    const auto before = set_coroutine_slot_finder(thread_coroutine_slot);
    EXPECT_EQ(&current_coroutine(), &thread_coroutine_slot());
    coroutine_slot* other = nullptr;
    std::thread([&] { other = &current_coroutine(); }).join();
    EXPECT_NE(other, &current_coroutine());
    set_coroutine_slot_finder([]() noexcept -> coroutine_slot& { return slot_of_somebody; });
    EXPECT_EQ(&current_coroutine(), &slot_of_somebody);
    set_coroutine_slot_finder(before);
    EXPECT_NE(&current_coroutine(), &slot_of_somebody);
}

}  // namespace
}  // namespace weft::detail

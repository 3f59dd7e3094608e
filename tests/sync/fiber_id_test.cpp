// fiber_id_test.cpp - ids are used once, also when a control block has counted to its end.
#include <gtest/gtest.h>

#include <cstdint>
#include <unordered_set>

#include <weft/fiber.hpp>

#include "fiber/control_block.hpp"
#include "support/no_leaks.hpp"

namespace weft::test {
namespace {

class fiber_ids : public on_workers {};
WEFT_ON_1_2_4_8_WORKERS(fiber_ids);

TEST_P(fiber_ids, are_not_used_again_when_a_block_has_had_all_its_generations) {
    watched_runtime rt(GetParam());
    const auto all_are_new = [](bool with_attributes) {
        std::unordered_set<fiber_id> seen{fiber_id()};
        for (int i = 0; i < 300; ++i) {
            auto f = with_attributes ? spawn({.name = "named"}, [] {}) : spawn([] {});
            EXPECT_TRUE(seen.insert(f.id()).second) << i;
            if (i == 100 || i == 200)  // the last but one of this block
                f.ref().block()->generation.store(UINT32_MAX - 1, detail::relaxed);
            f.join();
        }
    };
    rt.run([&] { all_are_new(false); });
    rt.run([&] { all_are_new(true); });
    auto outside = rt.spawn([] {});
    outside.ref().block()->generation.store(UINT32_MAX, detail::relaxed);
    const auto last = outside.id();
    outside.join();
    EXPECT_NE(rt.spawn([] { return this_fiber::id(); }).join(), last);
}

}  // namespace
}  // namespace weft::test

// page_return_test.cpp - what is given back reads as zero, alone or together; what lies beside it stays.
#include "stack/page_return.hpp"

#include <gtest/gtest.h>

#include <sys/mman.h>

#include <vector>

#include "stack/guard.hpp"

namespace weft::detail {
namespace {

class page_return_test : public testing::Test {
protected:
    static constexpr std::size_t page_count = 512;

    page_return_test() {
        base_ = static_cast<std::byte*>(
            ::mmap(nullptr, page_count * page_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        for (std::size_t i = 0; i < page_count; ++i) *page(i) = std::byte{7};
    }
    ~page_return_test() override { ::munmap(base_, page_count * page_bytes()); }

    std::byte* page(std::size_t i) const { return base_ + i * page_bytes(); }
    std::vector<std::size_t> kept() const {
        std::vector<std::size_t> found;
        for (std::size_t i = 0; i < page_count; ++i)
            if (*page(i) != std::byte{0}) found.push_back(i);
        return found;
    }
    std::vector<std::size_t> all_but(auto gone) const {
        std::vector<std::size_t> rest;
        for (std::size_t i = 0; i < page_count; ++i)
            if (!gone(i)) rest.push_back(i);
        return rest;
    }

    std::byte* base_ = nullptr;
};

TEST_F(page_return_test, nothing_given_is_nothing_done) {
    page_return().give_back();
    EXPECT_EQ(kept().size(), page_count);
}

TEST_F(page_return_test, one_stretch_goes_and_its_neighbours_stay) {
    page_return pages;
    pages.add(page(3), 2 * page_bytes(), page_bytes());
    pages.give_back();
    EXPECT_EQ(kept(), all_but([](std::size_t i) { return i == 3 || i == 4; }));
}

TEST_F(page_return_test, neighbours_go_with_the_gap_between_them_in_whatever_order_they_came) {
    page_return pages;
    for (const std::size_t first : {10u, 4u, 7u}) pages.add(page(first), 2 * page_bytes(), page_bytes());
    pages.give_back();
    EXPECT_EQ(kept(), all_but([](std::size_t i) { return i >= 4 && i < 12; }));
}

TEST_F(page_return_test, scattered_stretches_go_and_all_between_them_stays) {
    page_return pages;
    std::size_t n = 0;
    for (; !pages.full(); ++n) pages.add(page(n * 37 % 128 * 4), page_bytes(), page_bytes());
    EXPECT_EQ(n, page_return::at_most);
    pages.give_back();
    EXPECT_FALSE(pages.full());  // and is ready for others
    EXPECT_EQ(kept(), all_but([n](std::size_t i) {
                  for (std::size_t k = 0; k < n; ++k)
                      if (i == k * 37 % 128 * 4) return true;
                  return false;
              }));
}

}  // namespace
}  // namespace weft::detail

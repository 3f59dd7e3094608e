#include <weft/io/limits.hpp>

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace weft::test {
namespace {

TEST(raise_descriptor_limit, raises_the_soft_limit_to_the_hard_one) {
    rlimit kept{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &kept), 0);
    const rlimit low{.rlim_cur = 100, .rlim_max = kept.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
    EXPECT_EQ(weft::io::raise_descriptor_limit(), kept.rlim_max);
    rlimit now{};
    ::getrlimit(RLIMIT_NOFILE, &now);
    EXPECT_EQ(now.rlim_cur, kept.rlim_max);
    EXPECT_EQ(weft::io::raise_descriptor_limit(), kept.rlim_max);
    ::setrlimit(RLIMIT_NOFILE, &kept);
}

}  // namespace
}  // namespace weft::test

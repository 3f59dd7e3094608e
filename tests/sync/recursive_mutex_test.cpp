// recursive_mutex_test.cpp - its owner, a fiber wherever it runs or a thread, locks it as often as it likes.
#include <weft/mutex.hpp>

#include "sync/crew.hpp"

namespace {

class recursive_mutex_contract : public testing::TestWithParam<setting> {};

TEST_P(recursive_mutex_contract, seed_Q10_excludes_others_only) {
    const auto who = GetParam();
    weft::recursive_mutex m;
    long count = 0;  // no atomic: the mutex orders it
    crew all(who.workers);
    for (int i = 0; i < 3; ++i)
        for (const party p : {who.left, who.right})
            all.start(p, [&] {
                for (int n = 0; n < 300; ++n) {
                    const std::scoped_lock outer(m);
                    const long seen = count;
                    {
                        const std::scoped_lock inner(m);
                        if (n % 16 == 0) weft::this_fiber::yield();  // may go on on another thread
                    }
                    EXPECT_EQ(count, seen);
                    ++count;
                }
            });
    all.finish();
    EXPECT_EQ(count, 1'800);
}

INSTANTIATE_TEST_SUITE_P(all, recursive_mutex_contract, testing::ValuesIn(all_settings()),
                         [](const auto& p) { return name_of(p.param); });

TEST(recursive_mutex, others_get_it_after_the_last_unlock) {
    weft::recursive_mutex m;
    m.lock();
    EXPECT_TRUE(m.try_lock());
    EXPECT_TRUE(m.try_lock_for(0s));
    m.unlock();
    m.unlock();
    weft::run([&] {
        EXPECT_FALSE(m.try_lock());
        EXPECT_FALSE(m.try_lock_for(1ms));
        EXPECT_FALSE(m.try_lock_until(std::chrono::system_clock::now()));
    });
    m.unlock();
    weft::run([&] {
        EXPECT_TRUE(m.try_lock());
        m.unlock();
    });
}

TEST(recursive_mutex_death, only_the_owner_unlocks) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    weft::recursive_mutex m;
    EXPECT_DEATH(m.unlock(), "mutex: unlocked by another than its owner");
    m.lock();
    m.lock();
    EXPECT_DEATH(weft::run([&] { m.unlock(); }), "mutex: unlocked by another than its owner.*main");
    m.unlock();
    m.unlock();
    EXPECT_DEATH(m.unlock(), "mutex: unlocked by another than its owner");
}

}  // namespace

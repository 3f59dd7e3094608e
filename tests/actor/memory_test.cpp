// memory_test.cpp - what an actor holds while it waits for messages.
#include "actor/actors.hpp"

#include <fstream>

#include <unistd.h>

namespace weft::test {
namespace {

double resident_bytes() {
    std::ifstream statm("/proc/self/statm");
    double pages_in_all = 0, resident = 0;
    statm >> pages_in_all >> resident;
    return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

// The bound is that of the documentation; a sanitizer has memory of its own for each allocation and each stack.
TEST(actor_timing, an_idle_actor_holds_less_than_5_KiB) {
    run([] {
        constexpr int n = scaled(20'000);
        std::vector<actor_ref<account>> all;
        all.reserve(n);
        const auto warm = spawn_actor<account>({}, 1);
        EXPECT_EQ(warm.ask(account::balance{}), 1);
        const auto before = resident_bytes();
        for (int i = 0; i < n; ++i) {
            all.push_back(spawn_actor<account>({}, i));
            if (i % 64 == 63) this_fiber::yield();
        }
        for (const auto& a : all) a.ask(account::deposit{1});
        const auto each = (resident_bytes() - before) / n;
        std::printf("%.0f bytes each\n", each);
        EXPECT_LT(each, (sanitized ? 512 : 5) * 1024);
        for (int i = 0; i < n; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)].ask(account::balance{}), i + 1);
    });
}

}  // namespace
}  // namespace weft::test

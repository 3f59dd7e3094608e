// memory_test.cpp - what an actor holds while it waits for messages.
#include <weft/supervisor.hpp>

#include "actor/actors.hpp"

#include <fstream>

#include <malloc.h>
#include <unistd.h>

// The allocator of a sanitizer has it, and mallinfo2() knows nothing of that one.
extern "C" [[gnu::weak]] std::size_t __sanitizer_get_current_allocated_bytes();  // NOLINT(bugprone-reserved-identifier)

namespace weft::test {
namespace {

double resident_bytes() {
    std::ifstream statm("/proc/self/statm");
    double pages_in_all = 0, resident = 0;
    statm >> pages_in_all >> resident;
    return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

std::size_t allocated_bytes() {
    return __sanitizer_get_current_allocated_bytes ? __sanitizer_get_current_allocated_bytes() : ::mallinfo2().uordblks;
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

TEST(supervisor_timing, without_a_limit_of_restarts_keeps_no_times_of_them) {
    run([] {
        constexpr int lives = 10'000;
        const channel<std::size_t> seen(2);
        int life = 0;
        supervisor s({.max_restarts = no_limit, .within = no_limit});
        s.start<int>({.name = "brief"}, [&, seen](mailbox<int>& in) {
            if (++life == 1'000 || life == 1'000 + lives) seen.send(allocated_bytes());
            if (life == 1'000 + lives) in.receive();
        });
        const auto before = seen.receive().value(), after = seen.receive().value();
        std::printf("%zu bytes, then %zu\n", before, after);
        EXPECT_LT(after, before + 4 * lives);  // a time has 8 bytes
    });
}

}  // namespace
}  // namespace weft::test

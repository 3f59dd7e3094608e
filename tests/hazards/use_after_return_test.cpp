// AddressSanitizer finds the use of a local after its function has returned by keeping locals in a fake stack, one for each stack it is told
// of. Ask D6: fibers have one each, which goes with them from thread to thread. g++'s run time does so only where ASAN_OPTIONS says so.
#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <weft/fiber.hpp>
#include <weft/runtime.hpp>

#include "arch/sanitizer.hpp"

#if WEFT_UNDER_ASAN
namespace {

class use_after_return_death : public testing::Test {
protected:
    use_after_return_death() {
        GTEST_FLAG_SET(death_test_style, "threadsafe");  // programs of their own, which read what is set here
        const char* const given = std::getenv("ASAN_OPTIONS");
        const std::string more = std::string(given ? given : "") + ":detect_stack_use_after_return=1";
        ::setenv("ASAN_OPTIONS", more.c_str(), 1);
    }
};

void move_about() {
    for (int i = 0; i < 10; ++i) weft::this_fiber::yield();
}

[[gnu::noinline]] int* local_of_one_that_parks() {
    int local = 5;
    int* volatile address = &local;
    move_about();
    return address;
}

/// Locals live over parks, on whatever thread, and over exceptions.
int sum_of_many() {
    weft::runtime rt({.workers = 2, .migration = weft::migration_policy::torture});
    return rt.run([] {
        std::vector<weft::fiber<int>> all;
        for (int i = 0; i < 100; ++i)
            all.push_back(weft::spawn([] {
                int here[16] = {1};
                int* volatile seen = here;
                move_about();
                try {
                    throw 1;
                } catch (int one) {
                    move_about();
                    seen[1] = one;
                }
                return seen[0] + seen[1];
            }));
        int sum = 0;
        for (auto& f : all) sum += f.join();
        return sum;
    });
}

TEST_F(use_after_return_death, ask_D6_a_local_is_dead_after_its_function_wherever_the_fiber_runs) {
    EXPECT_DEATH(weft::run([] {
                     int* const dead = local_of_one_that_parks();
                     move_about();
                     *dead = 1;
                 }),
                 "stack-use-after-return");
}

TEST_F(use_after_return_death, ask_D6_locals_of_fibers_that_move_are_alive) {
    EXPECT_EXIT(std::exit(sum_of_many() == 200 ? 0 : 1), testing::ExitedWithCode(0), "");
}

}  // namespace
#endif

// fruit.cpp - fibers of three kinds that switch to one another all the time, to be looked at by check_perf.py. Compiled with frame pointers,
// weft included.
#include <cstdlib>
#include <ctime>
#include <vector>

#include <weft/fiber.hpp>
#include <weft/runtime.hpp>

namespace {

bool over = false;  // one worker, so one fiber at a time

// The number makes them different: of equal functions the compiler may keep one.
#define FRUIT(kind, number)                                                                                                      \
    [[gnu::noinline]] int kind##_inner(int depth) {                                                                              \
        if (depth > 0) return kind##_inner(depth - 1) + number;                                                                  \
        weft::this_fiber::yield();                                                                                               \
        return 0;                                                                                                                \
    }                                                                                                                            \
    [[gnu::noinline]] int kind##_outer(int depth) {                                                                              \
        int sum = 0;                                                                                                             \
        while (!over) sum += kind##_inner(depth);                                                                                \
        return sum;                                                                                                              \
    }
FRUIT(apple, 1)
FRUIT(pear, 2)

[[gnu::noinline]] void plum_outer(std::clock_t cpu_time) {
    for (int n = 1; n % 64 != 0 || std::clock() < cpu_time; ++n) weft::this_fiber::yield();
    over = true;
}

}  // namespace

int main(int, char** arguments) {
    const auto end =
        std::clock_t{std::atoi(arguments[1])} * CLOCKS_PER_SEC / 1000;  // of the process: others may want the machine
    weft::runtime rt({.workers = 1});
    rt.run([end] {
        std::vector<weft::fiber<int>> all;
        for (int n = 0; n < 4; ++n) {
            all.push_back(weft::spawn([] { return apple_outer(2); }));
            all.push_back(weft::spawn([] { return pear_outer(2); }));
        }
        plum_outer(end);
        for (auto& one : all) one.join();
    });
}

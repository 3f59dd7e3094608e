// preemption.cpp - one fiber computes without pause and one blocks its thread; a third, on the same worker, is punctual.
#include <weft/weft.hpp>

#include <unistd.h>

#include <atomic>
#include <iostream>

int main() {
    using namespace std::chrono_literals;
    std::atomic<bool> over{false};
    weft::run(
        [&] {
            auto computes = weft::spawn([&] {
                while (!over) {}  // not one call into weft
            });
            auto blocks = weft::spawn([] { ::usleep(200'000); });  // a system call that knows nothing of fibers
            weft::this_fiber::sleep_for(20ms);                     // first contact: a slice for each

            const auto from = std::chrono::steady_clock::now();
            for (int i = 0; i < 100; ++i) weft::this_fiber::sleep_for(1ms);
            const auto took = std::chrono::steady_clock::now() - from;
            over = true;
            std::cout << (took < 1s ? "punctual" : "late") << '\n';

            computes.join();
            blocks.join();
            std::cout << (weft::runtime::current()->stats().hand_offs >= 2 ? "both lost the worker\n" : "?\n");
        },
        {.workers = 1});
}

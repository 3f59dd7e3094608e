// pinned.cpp - a fiber that stays on its thread for a while, and one that has a thread to itself.
#include <weft/weft.hpp>

#include <atomic>
#include <iostream>
#include <thread>
#include <vector>

int main() {
    using namespace std::chrono_literals;
    weft::run([] {
        const bool stayed = weft::this_fiber::pinned([] {
            const auto here = std::this_thread::get_id();
            for (int i = 0; i < 100; ++i) weft::this_fiber::sleep_for(50us);  // elsewhere it might wake up on another thread
            return std::this_thread::get_id() == here;
        });
        std::cout << (stayed ? "pinned: one thread\n" : "?\n");

        std::atomic<bool> met{false};
        auto alone = weft::spawn({.name = "alone", .move = weft::migrate::own_carrier}, [&] {
            const auto here = std::this_thread::get_id();
            weft::with_scope([&](weft::scope& others) {
                for (int i = 0; i < 100; ++i)
                    others.spawn([&] {
                        if (std::this_thread::get_id() == here) met = true;
                    });
            });
            return std::this_thread::get_id() == here;
        });
        if (alone.join() && !met) std::cout << "alone: one thread, and nobody else's\n";
    });
}

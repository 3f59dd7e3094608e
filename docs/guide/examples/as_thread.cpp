// as_thread.cpp - what code keeps per thread, beside fibers that change their thread at every park: with and without as_thread.
#include <weft/weft.hpp>

#include <atomic>
#include <iostream>

// As a library in C does it: what it works on is kept per thread, also while it waits.
thread_local int job = 0;

// Not inlined, since a compiler keeps the address of a thread_local.
[[gnu::noinline]] void begin(int number) { job = number; }
[[gnu::noinline]] int current() {
    asm volatile("");
    return job;
}

int main() {
    weft::run(
        [] {
            std::atomic<int> wrong{0};
            const auto work = [&](int number) {
                begin(number);
                weft::this_fiber::yield();  // other fibers run here meanwhile, and this one goes on elsewhere
                if (current() != number) ++wrong;
            };

            weft::with_scope([&](weft::scope& s) {
                for (int i = 1; i <= 100; ++i) s.spawn([&, i] { work(i); });
            });
            std::cout << (wrong > 0 ? "plain fibers mix their jobs up\n" : "?\n");

            wrong = 0;
            weft::with_scope([&](weft::scope& s) {
                for (int i = 1; i <= 100; ++i) s.spawn({.as_thread = true}, [&, i] { work(i); });
            });
            std::cout << "fibers that are threads: " << wrong << " wrong\n";

            wrong = 0;
            weft::with_scope([&](weft::scope& s) {
                for (int i = 1; i <= 100; ++i) s.spawn([&, i] { weft::this_fiber::as_thread([&] { work(i); }); });
            });
            std::cout << "for the time of a call: " << wrong << " wrong\n";
        },
        {.workers = 2, .migration = weft::migration_policy::torture});
}

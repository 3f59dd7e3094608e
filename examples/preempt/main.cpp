// main.cpp - preempt [N]: two fibers sleep for a second while a third computes fib(N), all on one worker; then a fiber that ticks every
// millisecond beside hogs. Nobody gives way, and yet nobody is late. Ends with 1 if the sleepers had to wait for fib.
#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <vector>

#include <weft/fiber.hpp>
#include <weft/runtime.hpp>
#include <weft/scope.hpp>

namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

constexpr unsigned largest = 50;
constexpr auto nap = 1s;
constexpr auto at_least = 3s;   // fib is computed again and again until then, since a second may be enough for fib(40) by now

double seconds_since(steady::time_point from) { return std::chrono::duration<double>(steady::now() - from).count(); }

// The hog: it knows nothing of fibers.
unsigned long fib(unsigned n) { return n < 2 ? 1 : fib(n - 1) + fib(n - 2); }

// True if both sleepers were back while fib was still being computed.
bool sleep_beside_fib(unsigned n) {
    auto const from = steady::now();
    std::atomic<bool> computed{false};
    return weft::with_scope([&](weft::scope& s) {
        auto sleeper = [&] {
            weft::this_fiber::sleep_for(nap);
            std::printf("slept for %.4f s\n", seconds_since(from));
            return !computed;
        };
        auto one = s.spawn(sleeper), other = s.spawn(sleeper);
        auto hog = s.spawn([&] {
            unsigned long value = 0;
            do value = fib(n);
            while (steady::now() - from < at_least);
            computed = true;
            std::printf("fib(%u) = %lu, computed for %.1f s\n", n, value, seconds_since(from));
        });
        hog.join();
        return one.join() && other.join();
    });
}

void tick_beside(unsigned hogs) {
    std::atomic<bool> over{false};
    weft::with_scope([&](weft::scope& s) {
        for (unsigned i = 0; i < hogs; ++i)
            s.spawn([&over] {
                unsigned long sum = 0;
                for (unsigned round = 0; !over; ++round) sum += fib(15 + round % 6);
                return sum;
            });
        weft::this_fiber::sleep_for(200ms);   // first contact: each of them costs the others a slice

        std::vector<double> late;
        for (auto due = steady::now() + 1ms; late.size() < 500; due += 1ms) {
            weft::this_fiber::sleep_until(due);
            late.push_back(1e6 * seconds_since(due));
        }
        over = true;
        std::ranges::sort(late);
        std::printf("%2u hogs: ticks are late by %.0f us, of a hundred one by %.0f, the worst by %.0f\n", hogs, late[late.size() / 2],
                    late[late.size() * 99 / 100], late.back());
    });
}

bool parse(int argc, char** argv, unsigned& n) {
    if (argc == 1) return true;
    auto const* const end = argv[1] + std::strlen(argv[1]);
    auto const [rest, wrong] = std::from_chars(argv[1], end, n);
    return argc == 2 && wrong == std::errc() && rest == end && n <= largest;
}

}  // namespace

int main(int argc, char** argv) {
    unsigned n = 40;
    if (!parse(argc, argv, n)) {
        std::fprintf(stderr, "preempt: usage: preempt [N], N from 0 to %u\n", largest);
        return 2;
    }
    return weft::run(
        [n] {
            bool const punctual = sleep_beside_fib(n);
            for (unsigned const hogs : {1u, 4u}) tick_beside(hogs);
            return punctual ? 0 : 1;
        },
        {.workers = 1, .on_hog = [](const weft::hog_report&) {}});  // else each of these hogs would be named on stderr
}

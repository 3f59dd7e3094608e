// work.cpp - compiled at -O3 and without debug information, as libraries are.
#include "sched/foreign/work.hpp"

namespace weft::test {
namespace {

std::uint64_t fib(unsigned n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

}  // namespace

std::uint64_t recurse(std::uint64_t times) {
    std::uint64_t sum = 0;
    for (; times > 0; --times) {
        unsigned n = 15;
        asm volatile("" : "+r"(n));  // or the compiler would compute it once
        sum += fib(n);
    }
    return sum;
}

std::uint64_t step(std::uint64_t times) {
    std::uint64_t x = 1;
    for (; times > 0; --times) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        asm volatile("" : "+r"(x));  // or it would take many steps at once
    }
    return x;
}

}  // namespace weft::test

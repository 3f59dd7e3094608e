// reductions.cpp - uses weft::reductions as an outside project does: its calls are counted.
#include <chrono>

#include <weft/reductions.hpp>
#include <weft/runtime.hpp>

namespace {

long fib(int n) { return n < 2 ? 1 : fib(n - 1) + fib(n - 2); }

}  // namespace

int main() {
    weft::reductions::set_budget(100);
    const long value = weft::run([] { return fib(20); }, {.workers = 1, .time_slice = std::chrono::nanoseconds(0)});
    return value == 10946 && weft::reductions::times_given_way() > 0 ? 0 : 1;
}

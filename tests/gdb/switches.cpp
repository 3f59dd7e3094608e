// switches.cpp - switches of every kind between two made stacks, to be stepped through by check_switches.py. Knows no runtime, and goes on
// where neither stack nor thread is known to the debugger.
#include <array>

#include "arch/left_stack.hpp"
#include "arch/test_stack.hpp"

using namespace weft::detail;

namespace {

/// As many values as there are registers that a call preserves, different on either side.
struct in_registers {
    long whole[10];
    double broken[8];
};

struct two_stacks {
    context start, main, other;
    test_stack main_stack, other_stack;
    int visits = 0;
};

/// Calls it with the values in registers, as far as they go.
template <class Function>
[[gnu::always_inline]] inline void with_full_registers(volatile in_registers& all, Function f) {
    const long a = all.whole[0], b = all.whole[1], c = all.whole[2], d = all.whole[3], e = all.whole[4], g = all.whole[5],
               h = all.whole[6], i = all.whole[7], j = all.whole[8], k = all.whole[9];
    const double l = all.broken[0], m = all.broken[1], n = all.broken[2], o = all.broken[3], p = all.broken[4], q = all.broken[5],
                 r = all.broken[6], s = all.broken[7];
    f();
    all.whole[0] = a + b + c + d + e + g + h + i + j + k;
    all.broken[0] = l + m + n + o + p + q + r + s;
}

in_registers filled_from(int first) {
    in_registers all;
    for (long& w : all.whole) w = first++;
    for (double& b : all.broken) b = first++;
    return all;
}

[[gnu::noinline]] void leaves_other(two_stacks& s, int depth) {
    in_registers mine = filled_from(100);
    with_full_registers(mine, [&] {
        if (depth > 0) {
            leaves_other(s, depth - 1);
        } else {
            switch_context(s.other, s.main);
            hop_context(s.other, s.main);
            switch_context(s.other, s.main);
        }
    });
    ++s.visits;
}

void runs_on_other(void* argument) noexcept {
    auto& s = *static_cast<two_stacks*>(argument);
    leaves_other(s, 2);
    jump_context(s.main);
}

[[gnu::noinline]] void leaves_main(two_stacks& s, int depth) {
    in_registers mine = filled_from(200);
    with_full_registers(mine, [&] {
        if (depth > 0) {
            leaves_main(s, depth - 1);
        } else {
            switch_context(s.main, s.other);
            hop_context(s.main, s.other);
            std::array<void*, 16> frames;
            static_cast<void>(read_left_stack(s.other, frames));
            switch_context(s.main, s.other);
            switch_context(s.main, s.other);
        }
    });
    ++s.visits;
}

void runs_on_main(void* argument) noexcept {
    auto& s = *static_cast<two_stacks*>(argument);
    leaves_main(s, 2);
    jump_context(s.start);
}

}  // namespace

extern "C" [[gnu::noinline]] int all_switches_done(int visits) {
    asm volatile("" : "+r"(visits));
    return visits;
}

int main() {
    two_stacks s;
    s.main_stack.make(s.main, runs_on_main, &s);
    s.other_stack.make(s.other, runs_on_other, &s);
    switch_context(s.start, s.main);
    return all_switches_done(s.visits) == 6 ? 0 : 1;
}

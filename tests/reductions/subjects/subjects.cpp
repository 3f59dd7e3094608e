// subjects.cpp - compiled as a program that links weft::reductions.
#include "subjects.hpp"

#include <stdexcept>

namespace subjects {
namespace {

[[gnu::noinline]] long step(long taken) {
    asm volatile("" : "+r"(taken));  // each call is made
    return taken + 1;
}

struct busy_end {
    long count;
    ~busy_end() { steps(count); }
};

}  // namespace

[[gnu::no_instrument_function]] long steps(long count) {
    long taken = 0;
    while (taken < count) taken = step(taken);
    return taken;
}

long fib(int n) { return n < 2 ? 1 : fib(n - 1) + fib(n - 2); }

long compute_until(const std::atomic<bool>& over) {
    long sum = 0;
    for (int i = 0; !over; ++i) sum += fib(8 + i % 4);  // of one number it would be computed once
    return sum;
}

void throw_and_take_steps(long while_unwinding, long in_the_handler) {
    try {
        const busy_end end{while_unwinding};
        throw std::runtime_error("to unwind");
    } catch (const std::runtime_error&) {
        steps(in_the_handler);
    }
}

void steps_without_exceptions(long count) noexcept { steps(count); }

void call(const std::function<void()>& f) { f(); }

parcel::parcel(int number) noexcept : number_(number) { steps(1); }
parcel::parcel(parcel&& other) noexcept : number_(other.number_) { steps(3); }
parcel& parcel::operator=(parcel&& other) noexcept {
    number_ = other.number_;
    steps(3);
    return *this;
}
parcel::~parcel() { steps(2); }

}  // namespace subjects

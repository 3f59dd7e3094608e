// fib.cpp - as in hogs.cpp, but that each call is counted.
#include "fib.hpp"

std::uint64_t counted::fib(unsigned n) { return n < 2 ? 1 : fib(n - 1) + fib(n - 2); }

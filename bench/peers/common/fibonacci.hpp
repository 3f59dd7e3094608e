// fibonacci.hpp - the Nth Fibonacci number by additions, in GMP as weft's own benchmark does it.
#pragma once

#ifdef PEER_GMP
#include <gmp.h>
#endif

#include "peer.hpp"

namespace peer {

constexpr unsigned pieces = 64;

#ifdef PEER_GMP
inline void nth_fibonacci(std::uint64_t n) {
    mpz_t a, b, expected;
    mpz_init_set_ui(a, 0);
    mpz_init_set_ui(b, 1);
    for (std::uint64_t i = 0; i < n; ++i) {
        mpz_add(a, a, b);
        mpz_swap(a, b);
    }
    mpz_init(expected);
    mpz_fib_ui(expected, static_cast<unsigned long>(n));
    if (mpz_cmp(a, expected) != 0) fail("a Fibonacci number is wrong");
    mpz_clears(a, b, expected, nullptr);
}
#else
inline void nth_fibonacci(std::uint64_t) { fail("fibonacci needs GMP; install libgmp-dev"); }
#endif

/// `all(piece)` calls piece() 64 times, side by side.
template <class F>
void measure_fibonacci(const request& r, const char* variant, F&& all) {
    measure(r, {variant, r.n, "ms"}, [&] { return nanoseconds([&] { all([&] { nth_fibonacci(r.n); }); }) / 1e6; });
}

}  // namespace peer

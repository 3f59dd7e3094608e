// choice.cpp - a random generator per carrier or plain thread: xorshift64* of Vigna.
//
// Source: "An experimental exploration of Marsaglia's xorshift generators, scrambled". Only
// statistical quality is needed.
#include "sched/simulate/choice.hpp"

#include <chrono>

#include "sched/carrier.hpp"

namespace weft::detail {
namespace {

thread_local std::uint64_t state_of_thread = 0;

// A fiber with an identity draws on its carrier's, too.
std::uint64_t& state_here() noexcept {
    auto* const c = this_carrier();
    return c ? c->choices() : state_of_thread;
}

std::uint64_t fresh_seed() noexcept {
    const auto now = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
    const auto thread = reinterpret_cast<std::uintptr_t>(&state_here());  // differs from thread to thread
    // Never 0, which xorshift maps to 0.
    return (now ^ (thread * 0x9e37'79b9'7f4a'7c15)) | 1;
}

// Not inlined, since a caller that parks between two calls may be on another thread at the second.
[[gnu::noinline]] std::uint64_t next() noexcept {
    auto& state = state_here();
    auto x = state != 0 ? state : fresh_seed();
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    state = x;
    return x * 0x2545'f491'4f6c'dd1d;
}

}  // namespace

// Mixes the seed as splitmix64 of Vigna does, so that neighbouring seeds differ at once.
void seed_choices(std::uint64_t seed) noexcept {
    auto x = seed + 0x9e37'79b9'7f4a'7c15;
    x = (x ^ (x >> 30)) * 0xbf58'476d'1ce4'e5b9;
    x = (x ^ (x >> 27)) * 0x94d0'49bb'1331'11eb;
    state_here() = (x ^ (x >> 31)) | 1;
}

std::uint32_t choose(std::uint32_t n) noexcept {
    if (n == 1) return 0;
    // The high bits are the good ones.
    return static_cast<std::uint32_t>(((next() >> 32) * n) >> 32);
}

}  // namespace weft::detail

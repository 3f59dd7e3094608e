// clock.cpp - the steady clock of the system, or the virtual clock if one is set.
#include <weft/detail/clock.hpp>

#include "base/atomic.hpp"
#include "base/virtual_clock.hpp"

namespace weft::detail {
namespace {

constinit atomic<time_source> source{nullptr};

}  // namespace

void ask_for_time(time_source f) noexcept { source.store(f, release); }  // pairs with now()
bool time_is_asked_for() noexcept {
    return source.load(relaxed) != nullptr;
}  // relaxed: either the caller's own thread has set it, or the answer does not matter

time_point clock::now() noexcept {
    if (const auto ask = source.load(acquire)) [[unlikely]]  // pairs with ask_for_time()
        if (const auto t = ask()) return *t;
    return std::chrono::steady_clock::now();
}

}  // namespace weft::detail

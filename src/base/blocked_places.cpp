#include "base/blocked_places.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include <weft/detail/annotated_locks.hpp>

#include "base/fork.hpp"
#include "base/futex_lock.hpp"

namespace weft::detail {
namespace {

constexpr std::size_t most_places = 256;  // chosen: a program blocks in a few

constinit futex_lock places_lock;
constinit std::array<blocked_place, most_places> places WEFT_GUARDED_BY(places_lock) = {};
constinit std::size_t place_count WEFT_GUARDED_BY(places_lock) = 0;

[[gnu::constructor(before_static_objects)]] void hold_places_lock() noexcept { hold_across_forks<places_lock>(); }  // FORK-3

// The last one is that of the rest.
blocked_place& place_for(const void* caller, long number, const char* name) noexcept WEFT_REQUIRES(places_lock) {
    for (std::size_t i = 0; i < place_count; ++i)
        if (places[i].caller == caller && places[i].number == number) return places[i];
    if (place_count == most_places) return places.back();
    auto& p = places[place_count++];
    if (place_count < most_places) p = {.caller = caller, .number = number, .name = name};
    return p;
}

}  // namespace

void note_blocked_call(const void* caller, long number, const char* name) noexcept {
    const lock_guard guard(places_lock);
    ++place_for(caller, number, name).times;
}

void note_blocked_time(const void* caller, long number, duration took) noexcept {
    const lock_guard guard(places_lock);
    auto& p = place_for(caller, number, nullptr);
    p.in_all += took;
    p.longest = std::max(p.longest, took);
}

void for_each_blocked_place(void (*f)(const blocked_place&, void*), void* what) {
    const lock_guard guard(places_lock);
    for (std::size_t i = 0; i < place_count; ++i) f(places[i], what);
}

}  // namespace weft::detail

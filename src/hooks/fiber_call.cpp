#include "hooks/fiber_call.hpp"

#include <array>

namespace weft::hooks {
namespace {

using namespace detail;

constexpr unsigned place_bits = 10;  // chosen: a program calls from some dozens of places
constexpr std::size_t places = std::size_t{1} << place_bits;

std::array<call_count, places> counts;
call_count rest;

std::size_t first_place(const void* caller) noexcept {
    return static_cast<std::size_t>(reinterpret_cast<std::uintptr_t>(caller) * 0x9E37'79B9'7F4A'7C15u >> (64 - place_bits));
}

// The fiber has an identity, so these variables are its own.
thread_local constinit unsigned calls_without_park = 0;
thread_local constinit unsigned stopped_in_a_row = 0;
thread_local constinit const void* stopped_at = nullptr;

}  // namespace

call_count& count_of(const void* caller, const char* name) noexcept {
    constexpr std::size_t most_looks = 32;
    for (std::size_t i = first_place(caller), looks = 0; looks < most_looks; i = (i + 1) % places, ++looks) {
        auto& c = counts[i];
        const void* there = c.caller.load(relaxed);  // the counts are atomic, and the name is stored again by all
        if (!there && c.caller.compare_exchange_strong(there, caller, relaxed, relaxed)) there = caller;
        if (there != caller) continue;
        if (!c.name.load(relaxed)) c.name.store(name, relaxed);
        return c;
    }
    return rest;
}

bool has_had_its_share() noexcept {
    constexpr unsigned share = 64;  // as io_source::had_its_share()
    if (++calls_without_park < share) return false;
    calls_without_park = 0;
    return true;
}

void begin_share() noexcept { calls_without_park = stopped_in_a_row = 0; }

bool is_a_retry(const void* caller) noexcept {
    if (stopped_at != caller) stopped_in_a_row = 0;
    stopped_at = caller;
    return ++stopped_in_a_row == most_retries;
}

void for_each_count(void (*f)(const hook_count&, void*), void* what) {
    const auto tell = [&](const call_count& c) {
        const auto calls = c.calls.load(relaxed);
        if (calls == 0) return;
        const char* const name = c.name.load(relaxed);
        f({name ? name : "others", c.caller.load(relaxed), calls, c.parks.load(relaxed), c.blocks.load(relaxed)}, what);
    };
    for (const auto& c : counts) tell(c);
    tell(rest);
}

}  // namespace weft::hooks

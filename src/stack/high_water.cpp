// high_water.cpp - mincore(2) over a stack, from its lower end.
#include "stack/high_water.hpp"

#include <sys/mman.h>
#include <algorithm>
#include <array>
#include <cstdint>

#include "stack/guard.hpp"

namespace weft::detail {
namespace {

// chosen: keeps the frame small, and one call serves a stack of 512 KiB
constexpr std::size_t pages_at_once = 128;

std::byte* page_of(void const* address) noexcept {
    auto const at = reinterpret_cast<std::uintptr_t>(address);
    return reinterpret_cast<std::byte*>(at - at % page_bytes());
}

// The first touched page of [low, high), where `low` is the start of a page. Returns `high` if
// there is none, or if the kernel does not tell.
std::byte* lowest_touched(std::byte* low, std::byte* high) noexcept {
    std::array<unsigned char, pages_at_once> resident;
    for (std::byte* at = low; at < high;) {
        auto const bytes = std::min(static_cast<std::size_t>(high - at), pages_at_once * page_bytes());
        if (::mincore(at, bytes, resident.data()) != 0) return high;
        auto const end = resident.begin() + static_cast<std::ptrdiff_t>((bytes + page_bytes() - 1) / page_bytes());
        auto const found = std::find_if(resident.begin(), end, [](unsigned char r) { return (r & 1U) != 0; });
        if (found != end) return at + static_cast<std::size_t>(found - resident.begin()) * page_bytes();
        at += bytes;
    }
    return high;
}

// Not sanitized, because it reads what a sanitizer marks as frames that are gone.
WEFT_NOT_SANITIZED std::byte const* first_nonzero(std::byte const* at, std::byte const* end) noexcept {
    while (at < end && *static_cast<std::byte const volatile*>(at) == std::byte{0}) ++at;
    return at;
}

WEFT_NOT_SANITIZED void zero(std::byte* at, std::byte const* end) noexcept {
    for (; at < end; ++at) *static_cast<std::byte volatile*>(at) = std::byte{0};
}

}  // namespace

std::size_t touched_bytes(stack_span s) noexcept { return static_cast<std::size_t>(s.high - lowest_touched(s.low, s.high)); }

std::size_t used_bytes(stack_span s) noexcept {
    return static_cast<std::size_t>(s.high - first_nonzero(lowest_touched(s.low, s.high), s.high));
}

void scrub(stack_span s) noexcept {
    std::byte* const last = page_of(s.high);
    // cannot fail on mappings of our own
    ::madvise(s.low, static_cast<std::size_t>(last - s.low), MADV_DONTNEED);
    zero(last, s.high);
#if WEFT_UNDER_ASAN
    __asan_unpoison_memory_region(s.low, static_cast<std::size_t>(s.high - s.low));
#endif
}

std::size_t give_back_below(stack_span s, void const* sp) noexcept {
    std::byte* const end = page_of(sp);
    if (end <= s.low) return 0;
    std::byte* const from = lowest_touched(s.low, end);
    if (from == end) return 0;
    auto const bytes = static_cast<std::size_t>(end - from);
    return ::madvise(from, bytes, MADV_DONTNEED) == 0 ? bytes : 0;
}

}  // namespace weft::detail

// feed_limits.hpp - what `weft bench feed` leaves out.
#pragma once

#include <cstdint>
#include <string_view>

namespace bench {

inline constexpr std::uint64_t most_threads = 4096;  // chosen: systems have no room for many more
// Of the system's scheduler: a microsecond each on an idle machine, and ten beside thousands of others.
inline constexpr std::uint64_t most_thread_yields = 1'000'000;

enum class extent { usual, full };

/// Whether so many people, with so many nutrients each, are more than this way is measured with.
inline bool too_much(std::string_view way, std::uint64_t people, std::uint64_t nutrients, extent wanted) {
    if (way == "threads/yield" && people * nutrients > most_thread_yields && wanted == extent::usual) return true;
    return way.starts_with("threads") && people > most_threads;
}

}  // namespace bench

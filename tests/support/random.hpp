// random.hpp - the seed of a stress test, printed; and generators derived from it, one per fiber or thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace weft::test {

class seed {
public:
    /// WEFT_TEST_SEED repeats a run's choices (not its interleaving).
    seed() : value_(chosen()) { std::printf("seed %llu\n", static_cast<unsigned long long>(value_)); }

    /// The generator of party number `who`.
    std::minstd_rand of(std::uint64_t who) const {
        std::seed_seq words{static_cast<std::uint32_t>(value_), static_cast<std::uint32_t>(value_ >> 32),
                            static_cast<std::uint32_t>(who)};
        return std::minstd_rand(words);
    }

private:
    static std::uint64_t chosen() {
        if (const char* const text = std::getenv("WEFT_TEST_SEED")) return std::strtoull(text, nullptr, 10);
        return std::random_device{}();
    }
    std::uint64_t value_;
};

/// A number in [0, n).
inline unsigned below(std::minstd_rand& from, unsigned n) { return std::uniform_int_distribution<unsigned>(0, n - 1)(from); }

/// A duration in [0, most).
inline std::chrono::nanoseconds up_to(std::minstd_rand& from, std::chrono::nanoseconds most) {
    return std::chrono::nanoseconds(std::uniform_int_distribution<std::int64_t>(0, most.count() - 1)(from));
}

}  // namespace weft::test

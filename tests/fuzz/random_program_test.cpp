// random_program_test.cpp - random programs over the whole vocabulary, in the simulation and by two workers; and that planted faults are found.
//
// WEFT_TEST_SEED=17 runs the program of that number alone, --gtest_repeat=100 goes on with others.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <optional>

#include "program/run.hpp"
#include "support/no_leaks.hpp"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using fuzz::plant;

class random_program : public no_leaks {};

fuzz::program_text program_number(std::uint64_t seed) { return fuzz::program_of(fuzz::bytes_of(seed)); }

/// From the first on, and where the test is repeated from the next; so many or as many as there is time for, but not less than a few.
struct numbers {
    std::uint64_t first = 1, count = 0;
    std::chrono::milliseconds time{};

    template <class F>
    std::uint64_t for_each(F f) const {
        static std::uint64_t past = 0;  // one for each F, and so for each test
        if (const char* const only = std::getenv("WEFT_TEST_SEED")) return f(std::strtoull(only, nullptr, 10)), 1;
        const auto end = std::chrono::steady_clock::now() + time;
        constexpr std::uint64_t few = 20;
        std::uint64_t i = 0;
        for (; i < count && (i < few || std::chrono::steady_clock::now() < end); ++i)
            if (!f(first + past++)) break;
        return i;
    }
};

struct planted {
    plant what;
    const char* found_as;  // what one of the complaints says
};

/// The number of the first program of which that is said.
std::optional<std::uint64_t> found_by(const planted& fault, std::uint64_t most) {
    for (std::uint64_t seed = 1; seed <= most; ++seed) {
        const auto text = program_number(seed);
        const auto wrong =
            fault.what == plant::chance ? fuzz::find_wrong(text, fault.what) : fuzz::run_simulated(text, fault.what).wrong;
        if (wrong.find(fault.found_as) != wrong.npos) return seed;
    }
    return std::nullopt;
}

TEST_F(random_program, keeps_the_promises_in_the_simulation) {
    std::size_t operations = 0, asleep = 0;
    const auto programs = numbers{.count = 1500, .time = 1000ms}.for_each([&](std::uint64_t seed) {
        const auto text = program_number(seed);
        const auto r = fuzz::run_simulated(text);
        EXPECT_EQ(r.wrong, "") << "program " << seed << " (WEFT_TEST_SEED=" << seed << ")\n" << written(text) << r.course;
        operations += r.operations;
        asleep += r.asleep != 0;
        return !HasFailure();
    });
    std::printf("%llu programs, %zu operations, %zu at rest with somebody asleep\n", static_cast<unsigned long long>(programs),
                operations, asleep);
}

TEST_F(random_program, takes_the_same_course_twice) {
    numbers{.first = 5000, .count = 200, .time = 200ms}.for_each([&](std::uint64_t seed) {
        EXPECT_EQ(fuzz::find_wrong(program_number(seed)), "") << "program " << seed;
        return !HasFailure();
    });
}

TEST_F(random_program, keeps_the_promises_by_two_workers) {
    const auto programs = numbers{.first = 10'000, .count = 500, .time = 600ms}.for_each([&](std::uint64_t seed) {
        const auto text = program_number(seed);
        const auto r = fuzz::run_by_two_workers(text);
        EXPECT_EQ(r.wrong, "") << "program " << seed << " (WEFT_TEST_SEED=" << seed << ")\n" << written(text) << r.course;
        return !HasFailure();
    });
    std::printf("%llu programs by two workers\n", static_cast<unsigned long long>(programs));
}

TEST_F(random_program, every_planted_fault_is_found) {
    constexpr std::uint64_t most = 600;  // chosen: several times what each of them needs
    const planted faults[] = {{plant::lost_value, "a value is lost"},
                              {plant::doubled_value, "a value comes twice"},
                              {plant::swapped_values, "values come out of order"},
                              {plant::empty_too_early, "a value was overlooked"},
                              {plant::early_timeout, "a limit was over before its time"},
                              {plant::deafness, "went on"},
                              {plant::lost_wake_up, "asleep, although there is a token"},
                              {plant::lost_permit, "asleep, although there is a permit"},
                              {plant::lost_set, "asleep, although the event is set"},
                              {plant::open_mutex, "two have the mutex"},
                              {plant::forgotten_fiber, "a scope has ended before"},
                              {plant::chance, "a second run took another course"}};
    EXPECT_EQ(std::size(faults), static_cast<std::size_t>(plant::last));
    for (const auto& fault : faults) {
        const auto found = found_by(fault, most);
        EXPECT_TRUE(found) << fault.found_as;
        if (found) std::printf("%s: program %llu\n", fault.found_as, static_cast<unsigned long long>(*found));
    }
}

}  // namespace
}  // namespace weft::test

// timeouts_test.cpp - time points of any clock as deadlines: those nobody can wait for are never, those long past are over at once.
#include <weft/detail/timeouts.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>

#include <weft/deadline.hpp>
#include <weft/event.hpp>
#include <weft/mutex.hpp>
#include <weft/runtime.hpp>

using namespace std::chrono_literals;

namespace weft::test {
namespace {

using std::chrono::nanoseconds, std::chrono::steady_clock, std::chrono::system_clock;
using seconds_in_double = std::chrono::duration<double>;
using seconds_in_float = std::chrono::duration<float>;
using thirds_of_a_second = std::chrono::duration<std::int64_t, std::ratio<1, 3>>;
using years_in_16_bits = std::chrono::duration<std::int16_t, std::chrono::years::period>;

/// A clock that counts from another epoch, or in another type: the system's, shifted.
template <class Rep, std::int64_t Epoch>
struct own_clock {
    using rep = Rep;
    using period = std::micro;
    using duration = std::chrono::duration<rep, period>;
    using time_point = std::chrono::time_point<own_clock>;
    static constexpr bool is_steady = false;
    static time_point now() noexcept {
        const auto since = std::chrono::duration_cast<std::chrono::microseconds>(system_clock::now().time_since_epoch());
        return time_point(duration(static_cast<rep>(since.count()) + static_cast<rep>(Epoch) * 1'000'000));
    }
};
using since_the_year_0 = own_clock<std::int64_t, 62'167'219'200>;  // nanoseconds of it do not fit into 64 bits
using before_its_epoch = own_clock<std::int64_t, -100'000'000'000>;
using unsigned_clock = own_clock<std::uint64_t, 0>;
using double_clock = own_clock<double, 0>;

bool has_passed(detail::time_point t) { return t <= detail::clock::now(); }

template <class T>
class timeouts : public testing::Test {};

using time_points = testing::Types<
    std::chrono::sys_time<std::chrono::nanoseconds>, std::chrono::sys_time<std::chrono::microseconds>,
    std::chrono::sys_time<std::chrono::seconds>, std::chrono::sys_time<std::chrono::hours>,
    std::chrono::sys_time<thirds_of_a_second>, std::chrono::sys_time<years_in_16_bits>, std::chrono::sys_time<seconds_in_double>,
    std::chrono::sys_time<seconds_in_float>, std::chrono::time_point<steady_clock>,
    std::chrono::time_point<steady_clock, std::chrono::milliseconds>, std::chrono::time_point<steady_clock, std::chrono::hours>,
    std::chrono::time_point<steady_clock, seconds_in_double>, since_the_year_0::time_point,
    std::chrono::time_point<since_the_year_0, std::chrono::hours>, before_its_epoch::time_point,
    std::chrono::time_point<before_its_epoch, std::chrono::milliseconds>, unsigned_clock::time_point, double_clock::time_point>;
TYPED_TEST_SUITE(timeouts, time_points);

TYPED_TEST(timeouts, the_greatest_time_point_never_comes) { EXPECT_EQ(detail::deadline_at(TypeParam::max()), detail::never); }

TYPED_TEST(timeouts, the_least_time_point_has_passed) { EXPECT_TRUE(has_passed(detail::deadline_at(TypeParam::min()))); }

/// How exact a count is: of one in floating point, of today's seconds.
template <class Unit>
std::chrono::nanoseconds grain() {
    if constexpr (std::is_floating_point_v<typename Unit::rep>)
        return 10min;
    else
        return std::chrono::duration_cast<std::chrono::nanoseconds>(Unit(1));
}

TYPED_TEST(timeouts, one_that_is_near_comes_when_its_clock_says_so) {
    using unit = typename TypeParam::duration;
    const auto there = TypeParam::clock::now();
    const auto here = detail::clock::now();
    const auto far = std::chrono::ceil<unit>(2h);
    const auto t = detail::deadline_at(TypeParam(std::chrono::ceil<unit>(there) + far));
    EXPECT_GE(t - here, 2h - 10min);
    EXPECT_LE(t - here, std::chrono::duration_cast<std::chrono::nanoseconds>(far) + grain<unit>() + 10min);
}

template <class Rep>
void are_told_by_a_floating_count() {
    using at = std::chrono::sys_time<std::chrono::duration<Rep>>;
    using limits = std::numeric_limits<Rep>;
    const auto of = [](Rep seconds) { return detail::deadline_at(at(std::chrono::duration<Rep>(seconds))); };
    EXPECT_EQ(of(limits::infinity()), detail::never);
    EXPECT_EQ(of(limits::max()), detail::never);
    EXPECT_TRUE(has_passed(of(-limits::infinity())));
    EXPECT_TRUE(has_passed(of(limits::lowest())));
    EXPECT_TRUE(has_passed(of(limits::quiet_NaN())));
    EXPECT_TRUE(has_passed(of(0)));
    EXPECT_TRUE(has_passed(detail::deadline_in(std::chrono::duration<Rep>(limits::quiet_NaN()))));
    EXPECT_EQ(detail::deadline_in(std::chrono::duration<Rep>(limits::infinity())), detail::never);
}

TEST(floating_timeouts, are_saturated) {
    are_told_by_a_floating_count<float>();
    are_told_by_a_floating_count<double>();
    are_told_by_a_floating_count<long double>();
}

template <class Duration>
void largest_is_never(std::string_view what) {
    EXPECT_EQ(detail::saturated(Duration(nanoseconds::max())), nanoseconds::max()) << what;
    EXPECT_EQ(detail::saturated(Duration(nanoseconds::max()) * 2), nanoseconds::max()) << what;
}

TEST(floating_timeouts, near_the_largest_are_never_in_any_unit) {
    largest_is_never<std::chrono::duration<float>>("float seconds");
    largest_is_never<std::chrono::duration<float, std::milli>>("float milliseconds");
    largest_is_never<std::chrono::duration<float, std::ratio<3600>>>("float hours");
    largest_is_never<std::chrono::duration<double, std::milli>>("double milliseconds");
    largest_is_never<std::chrono::duration<double, std::ratio<86400>>>("double days");
    largest_is_never<std::chrono::duration<double, std::ratio<604800>>>("double weeks");
    EXPECT_EQ(detail::saturated(std::chrono::duration<double, std::exa>(1)), nanoseconds::max());
    EXPECT_EQ(detail::saturated(std::chrono::duration<double, std::tera>(1e-12)), 1s);
    EXPECT_EQ(detail::saturated(std::chrono::duration<double>(0.1)), 100ms) << "as std::chrono rounds it";
}

TEST(odd_timeouts, of_centuries_do_not_overflow_on_the_way) {
    EXPECT_EQ(detail::deadline_in(thirds_of_a_second::max()), detail::never);
    const auto t = detail::deadline_in(thirds_of_a_second(20'000'000'000)) - detail::clock::now();  // 211 years
    EXPECT_GT(t, std::chrono::seconds(6'666'666'600));
    EXPECT_LE(t, std::chrono::seconds(6'666'666'667));
    EXPECT_TRUE(has_passed(detail::deadline_in(thirds_of_a_second::min())));
}

/// What users see.
TEST(far_time_points, end_waits_at_once_or_never) {
    using hours_of_the_system = std::chrono::sys_time<std::chrono::hours>;
    run([] {
        event e;
        EXPECT_FALSE(e.wait_until(system_clock::time_point::min()));
        EXPECT_FALSE(e.wait_until(std::chrono::sys_time<seconds_in_double>(seconds_in_double(-1e300))));
        EXPECT_FALSE(e.wait_until(hours_of_the_system::min()));
        mutex m;
        m.lock();
        EXPECT_FALSE(spawn([&] { return m.try_lock_until(system_clock::time_point::min()); }).join());
        m.unlock();
        EXPECT_THROW(with_deadline(system_clock::time_point::min(), [] { this_fiber::sleep_for(1h); }), timeout_error);
        auto waits = spawn([&] { return e.wait_until(hours_of_the_system::max()); });
        EXPECT_FALSE(waits.join_for(20ms));
        EXPECT_FALSE(waits.join_until(system_clock::now() + 1ms));
        e.set();
        EXPECT_TRUE(waits.join());
    });
}

}  // namespace
}  // namespace weft::test

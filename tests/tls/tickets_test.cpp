// tickets_test.cpp - the keys of session tickets, hour by hour.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "support/random.hpp"
#include "tls/tickets.hpp"

namespace weft::test {
namespace {

using namespace detail;

const std::string secret(32, 's');

bool are_equal(const ticket_keys& a, const ticket_keys& b) { return a.name == b.name && a.cipher == b.cipher && a.mac == b.mac; }

/// As another process with the same secret makes them.
ticket_keys made_apart(std::int64_t hour) { return tls_tickets(secret).of_hour(hour).value(); }

TEST(tls_tickets, differ_each_hour_and_are_found_for_two_hours_more) {
    const tls_tickets tickets(secret);
    const auto keys = tickets.of_hour(1000).value();
    EXPECT_FALSE(are_equal(keys, tickets.of_hour(1001).value()));
    for (const std::int64_t later : {0, 1, 2}) {
        const auto found = tickets.find(keys.name.data(), 1000 + later);
        ASSERT_TRUE(found) << later;
        EXPECT_TRUE(are_equal(*found, keys)) << later;
    }
    EXPECT_FALSE(tickets.find(keys.name.data(), 1003));
    EXPECT_FALSE(tickets.find(keys.name.data(), 999)) << "a clock that was set back";
    for (const std::int64_t hour : {-1, 0, 1}) EXPECT_FALSE(tickets.find(keys.name.data(), hour)) << "a clock that was never set";
}

TEST(tls_tickets, are_those_of_another_process_whatever_is_kept) {
    const tls_tickets tickets(secret);
    for (const std::int64_t hour : {1000, 1003, 1000, 1001, 1004, 1001, 1000, 0, -1, -2, 1, -1})
        EXPECT_TRUE(are_equal(tickets.of_hour(hour).value(), made_apart(hour))) << hour;
}

TEST(tls_tickets, are_right_for_threads_that_ask_for_many_hours_stress) {
    const tls_tickets tickets(secret);
    std::vector<ticket_keys> expected;
    for (std::int64_t hour = 0; hour < 8; ++hour) expected.push_back(made_apart(hour));
    const seed s;
    std::vector<std::thread> threads;
    for (std::uint64_t i = 0; i < 4; ++i)
        threads.emplace_back([&, rng = s.of(i)]() mutable {
            for (int n = 0; n < 2000; ++n) {
                const auto hour = below(rng, 8);
                EXPECT_TRUE(are_equal(tickets.of_hour(hour).value(), expected[hour])) << hour;
            }
        });
    for (auto& t : threads) t.join();
}

}  // namespace
}  // namespace weft::test

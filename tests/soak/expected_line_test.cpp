// expected_line_test.cpp - which lines of its server the soak takes for expected.
#include <gtest/gtest.h>

#include "soak/support/expected_line.hpp"

namespace soak {
namespace {

TEST(expected_line, hogs_that_are_to_be_and_no_others) {
    const std::string hog = R"(weft: fiber 17 "soak hog" (../tests/soak/server/hogs.cpp:56) has kept its thread for 54 ms and )";
    for (const auto* const end : {"computes", "computes at f+0x2 < g", "computes; 2 more not reported",
                                  "blocks it in futex, futex_wait", "blocks it; 1 more not reported"})
        EXPECT_EQ(read(hog + end).kind, line_kind::hog) << end;
    EXPECT_EQ(read(R"(weft: fiber 17 "client" (a.cpp:1) has kept its thread for 54 ms and computes)").kind, line_kind::other);
    EXPECT_EQ(read("weft: fiber 17 has kept its thread for 54 ms and computes").kind, line_kind::other);
}

TEST(expected_line, connections_that_wait_are_told_from_those_that_compute) {
    for (const std::string name : {"http connection", "GET /users/{id}", "POST /users"}) {
        const auto connection = "weft: fiber 17 \"" + name + "\" (src/http/server.cpp:72) has kept its thread for 54 ms and ";
        EXPECT_EQ(read(connection + "blocks it").kind, line_kind::lock);
        EXPECT_EQ(read(connection + "blocks it in futex, futex_do_wait; 3 more not reported").kind, line_kind::lock);
        EXPECT_EQ(read(connection + "computes").kind, line_kind::slow);
        EXPECT_EQ(read(connection + "computes; 1 more not reported").kind, line_kind::slow);
    }
}

TEST(expected_line, accept_may_be_out_of_descriptors_only) {
    EXPECT_EQ(read("weft: accept on 127.0.0.1:80: Too many open files; trying again until it passes").kind, line_kind::accept);
    EXPECT_EQ(read("weft: accept on 127.0.0.1:80: Cannot allocate memory; trying again until it passes").kind, line_kind::other);
}

TEST(expected_line, a_client_that_never_reads_is_cut_off) {
    const std::string cut = " for 127.0.0.1:35724 was cut short after 0 of 14155 bytes: the client takes less than min_rate";
    EXPECT_EQ(read("weft: http: the answer to GET /users/never-read" + cut).kind, line_kind::unread);
    EXPECT_EQ(read("weft: http: the answer to GET /users/1" + cut).kind, line_kind::other);
}

TEST(expected_line, failures_tell_their_reason) {
    const auto line = read("users: GET /users/1: redis 127.0.0.1:1: cannot connect: Connection refused (and 3 more)");
    EXPECT_EQ(line.kind, line_kind::failure);
    EXPECT_EQ(line.reason, "redis 127.0.0.1:1: cannot connect: Connection refused (and 3 more)");
}

TEST(expected_line, nothing_else_is) {
    for (const auto* const line :
         {"", "weft: a planted line", "==1==ERROR: AddressSanitizer: heap-use-after-free", "WARNING: ThreadSanitizer: data race"})
        EXPECT_EQ(read(line).kind, line_kind::other) << line;
}

}  // namespace
}  // namespace soak

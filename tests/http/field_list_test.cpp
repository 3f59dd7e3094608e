// field_list_test.cpp - lists in fields, and which content coding a client gets.
#include "http/field_list.hpp"

#include <gtest/gtest.h>

#include <string>

namespace {

using namespace weft;
using detail::best_of;
using detail::coding;

coding chosen(std::string_view accepted) {
    const http::headers asked{{"Accept-Encoding", accepted}};
    return best_of(detail::accepted_codings(asked), true, true);
}

TEST(accepted_codings, zstd_wins_over_gzip_unless_the_client_prefers_gzip) {
    EXPECT_EQ(chosen("gzip, deflate, br, zstd"), coding::zstd);
    EXPECT_EQ(chosen("gzip, deflate, br"), coding::gzip);
    EXPECT_EQ(chosen("ZSTD;q=0.5, X-GZIP ; Q=0.8"), coding::gzip);
    EXPECT_EQ(chosen("zstd;q=0.8,gzip;q=0.8"), coding::zstd);
    EXPECT_EQ(chosen("br"), coding::identity);
    EXPECT_EQ(chosen(""), coding::identity);
    EXPECT_EQ(best_of(detail::accepted_codings(http::headers{}), true, true), coding::identity);
}

TEST(accepted_codings, a_weight_of_zero_refuses_and_a_star_stands_for_the_rest) {
    EXPECT_EQ(chosen("zstd;q=0, gzip"), coding::gzip);
    EXPECT_EQ(chosen("zstd;q=0.000, gzip;q=0"), coding::identity);
    EXPECT_EQ(chosen("*"), coding::zstd);
    EXPECT_EQ(chosen("*, zstd;q=0"), coding::gzip);
    EXPECT_EQ(chosen("*;q=0, gzip"), coding::gzip);
    EXPECT_EQ(chosen("*;q=0"), coding::identity) << "nothing fits, so it is sent as it is";
    EXPECT_EQ(chosen("gzip;q=0.2, *;q=0.1"), coding::gzip);
}

TEST(accepted_codings, identity_is_chosen_if_the_client_prefers_it) {
    EXPECT_EQ(chosen("identity, gzip;q=0.5"), coding::identity);
    EXPECT_EQ(chosen("identity;q=0.5, gzip;q=0.5"), coding::gzip);
    EXPECT_EQ(chosen("identity;q=0, gzip;q=0.001"), coding::gzip);
    EXPECT_EQ(chosen("identity;q=0.5, *;q=0.4"), coding::identity);
    const http::headers refuses{{"Accept-Encoding", "identity;q=0"}}, refuses_all{{"Accept-Encoding", "gzip, *;q=0"}};
    EXPECT_EQ(detail::accepted_codings(refuses).identity(), 0);
    EXPECT_EQ(detail::accepted_codings(refuses_all).identity(), 0);
    EXPECT_EQ(detail::accepted_codings(http::headers{}).identity(), std::nullopt);
}

TEST(accepted_codings, several_fields_are_one_list_and_malformed_weights_refuse) {
    const http::headers asked{{"Accept-Encoding", "br"}, {"accept-encoding", ",, gzip ,"}};
    EXPECT_EQ(detail::accepted_codings(asked).gzip(), 1000);
    for (const char* bad : {"gzip;q=2", "gzip;q=1.001", "gzip;q=", "gzip;q=.5", "gzip;q=0.1234", "gzip;q=-1", "gzip;q=x"})
        EXPECT_EQ(chosen(bad), coding::identity) << bad;
    EXPECT_EQ(chosen("gzip;level=9;q=0.5"), coding::gzip);
    EXPECT_EQ(chosen("gzip;q=1.000"), coding::gzip);
}

TEST(field_list, vary_gets_each_name_once) {
    http::headers h;
    detail::add_vary(h, "Origin");
    detail::add_vary(h, "Accept-Encoding");
    detail::add_vary(h, "origin");
    EXPECT_EQ(h.find("Vary"), "Origin, Accept-Encoding");
    h.add("Vary", "Cookie");
    detail::add_vary(h, "Accept");
    EXPECT_EQ(h.find("Vary"), "Origin, Accept-Encoding, Cookie, Accept");
    EXPECT_EQ(h.size(), 1u);
    h.set("Vary", "*");
    detail::add_vary(h, "Origin");
    EXPECT_EQ(h.find("Vary"), "*");
}

}  // namespace

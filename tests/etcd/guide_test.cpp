// guide_test.cpp - the program of the guide, with a real server.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include <weft/etcd/client.hpp>
#include <weft/retry.hpp>
#include <weft/runtime.hpp>

#include "etcd/support/etcd_server.hpp"

#ifdef WEFT_GUIDE_ETCD

TEST(etcd_guide, prints_what_its_page_says) {
    weft::test::etcd_server server;
    weft::run([&] {
        weft::etcd::client db({.endpoints = {server.url()}});
        weft::retry({.attempts = 100, .first_pause = std::chrono::milliseconds(50), .growth = 1}, [&] { db.put("first", ""); });
    });
    FILE* program = ::popen((WEFT_GUIDE_ETCD " " + server.url()).c_str(), "r");
    ASSERT_TRUE(program);
    std::string printed;
    for (int c; (c = std::fgetc(program)) != EOF;) printed.push_back(static_cast<char>(c));
    EXPECT_EQ(::pclose(program), 0);
    EXPECT_EQ(printed, "ann: it is mine\nbob: it is ann's\nbob: it is mine now\nno such lease\n");
}

#endif

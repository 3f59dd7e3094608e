// redis_test.cpp - a Redis client that talks to a real server through TLS.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>

#include <weft/net/tls.hpp>
#include <weft/redis/client.hpp>
#include <weft/scope.hpp>

#include "redis/support/redis_server.hpp"
#include "tls/support/both_ends.hpp"

namespace weft::test {
namespace {

/// Files of a certificate, for another program.
class certificate_files {
public:
    explicit certificate_files(const identity& of) {
        std::ofstream(certificate()) << of.certificate;
        std::ofstream(key()) << of.key;
    }
    ~certificate_files() {
        std::remove(certificate().c_str());
        std::remove(key().c_str());
    }
    std::string certificate() const { return path_ + ".crt"; }
    std::string key() const { return path_ + ".key"; }

private:
    std::string path_ = testing::TempDir() + "weft_redis_tls_" + std::to_string(::getpid());
};

class redis_with_tls : public testing::Test {
protected:
    std::string url() const { return "rediss://127.0.0.1:" + std::to_string(port_); }

private:
    const certificate_files files_{test_authority().issue()};
    const std::uint16_t port_ = free_port();
    const redis_server server_{{"--tls-port", std::to_string(port_), "--tls-cert-file", files_.certificate(), "--tls-key-file",
                                files_.key(), "--tls-ca-cert-file", files_.certificate(), "--tls-auth-clients", "no"}};
};

TEST_F(redis_with_tls, commands_of_many_fibers_are_answered) {
    const tls::context context(client_options());
    run([&] {
        redis::client db(url(), {.tls = &context});
        with_scope([&](scope& all) {
            for (int i = 0; i < 50; ++i) {
                all.spawn([&, i] {
                    const auto key = "key" + std::to_string(i);
                    for (int n = 0; n < 20; ++n) {
                        db.set(key, std::to_string(n));
                        EXPECT_EQ(db.get(key), std::to_string(n));
                    }
                });
            }
        });
        const std::string large(3'000'000, 'x');
        db.set("large", large);
        EXPECT_TRUE(db.get("large") == large);
    });
}

TEST_F(redis_with_tls, a_server_that_is_not_trusted_is_named) {
    const tls::context of_system;
    run([&] {
        redis::client db(url(), {.tls = &of_system});
        try {
            db.get("x");
            ADD_FAILURE() << "it was trusted";
        } catch (const redis::error& e) {
            EXPECT_NE(std::string(e.what()).find("no trusted authority has signed"), std::string::npos) << e.what();
        }
    });
}

TEST(redis_url_with_tls, needs_a_context) {
    run([] { EXPECT_THROW(redis::client("rediss://localhost"), std::invalid_argument); });
}

}  // namespace
}  // namespace weft::test

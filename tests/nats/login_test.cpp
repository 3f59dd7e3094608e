// login_test.cpp - users, tokens, nkeys and TLS against a real nats-server.
#include <weft/nats/client.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <fstream>

#include <weft/channel.hpp>
#include <weft/fiber.hpp>
#include <weft/runtime.hpp>
#include <weft/tls/context.hpp>
#include <weft/tls/self_signed.hpp>

#include "nats/support/nats_server.hpp"

namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::ThrowsMessage;
using weft::test::nats_server;
namespace nats = weft::nats;

// The private key is the bytes 0 to 31; openssl(1) and a few lines of Python have made the rest.
constexpr const char* seed = "SUAAAAICAMCAKBQHBAEQUCYMBUHA6EARCIJRIFIWC4MBSGQ3DQOR4H776Y";
constexpr const char* public_key = "UAB2CB576PHBBPQ5ODORRZ2LYCMWPZGWGCN2KDK7DXOIMZASKUY3RLKK";

/// Whether a client with these options can use the server; else what() of the failure.
std::string use(nats::client_options o) {
    o.reconnect_pause = 10ms;
    nats::client c(std::move(o));
    try {
        c.flush(20s);
        return "good";
    } catch (const nats::error& e) {
        EXPECT_EQ(e.code(), nats::nats_errc::not_connected);
        return e.what();
    }
}

/// Why the first attempt with these options has failed; the calls of the client say the same.
std::string refused_by(nats::client_options o) {
    weft::channel<std::string> told{weft::unbounded};
    o.on_event = [=](const nats::event& e) {
        if (e.what == nats::event::kind::connected) told.send("good");
        if (e.what == nats::event::kind::disconnected) told.send(e.text);
    };
    nats::client c(std::move(o));
    const auto why = told.receive().value();
    if (why == "good") return why;
    try {
        c.flush(10ms);
    } catch (const nats::error& e) {
        EXPECT_THAT(e.what(), HasSubstr(why));
    }
    return why;
}

TEST(nats_login, users_and_tokens) {
    nats_server by_user("authorization { user: ann, password: \"a secret\" }"), by_token("authorization { token: \"t0ken\" }");
    by_user.start();
    by_token.start();
    weft::run([&] {
        EXPECT_EQ(use({.servers = {by_user.url()}, .user = "ann", .password = "a secret"}), "good");
        EXPECT_EQ(use({.servers = {"nats://ann:a secret@" + by_user.address()}}), "good");
        EXPECT_EQ(use({.servers = {by_token.url()}, .token = "t0ken"}), "good");
        EXPECT_EQ(use({.servers = {"nats://t0ken@" + by_token.address()}}), "good");
        EXPECT_THAT(refused_by({.servers = {by_user.url()}, .user = "ann", .password = "wrong"}),
                    HasSubstr("Authorization Violation"));
        EXPECT_THAT(refused_by({.servers = {by_token.url()}}), HasSubstr("Authorization Violation"));
    });
}

TEST(nats_login, an_nkey_from_an_option_and_from_a_file) {
    nats_server server(std::string("authorization { users = [ { nkey: ") + public_key + " } ] }");
    server.start();
    const auto file = server.folder() + "/seed";
    std::ofstream(file) << "-----BEGIN USER NKEY SEED-----\n" << seed << "\n------END USER NKEY SEED------\n";
    ::chmod(file.c_str(), 0600);
    weft::run([&] {
        EXPECT_EQ(use({.servers = {server.url()}, .nkey = seed}), "good");
        EXPECT_EQ(use({.servers = {server.url()}, .nkey_file = file}), "good");
        EXPECT_THAT(refused_by({.servers = {server.url()}}), HasSubstr("Authorization Violation"));
        auto wrong = std::string(seed);
        wrong[20] = wrong[20] == 'A' ? 'B' : 'A';
        EXPECT_THAT([&] { nats::client c({.nkey = wrong}); }, ThrowsMessage<nats::error>(HasSubstr("misspelled")));
        ::chmod(file.c_str(), 0640);
        EXPECT_THAT([&] { nats::client c({.nkey_file = file}); }, ThrowsMessage<nats::error>(HasSubstr("chmod 600")));
        EXPECT_THAT([&] { nats::client c({.nkey_file = file + "x"}); },
                    ThrowsMessage<nats::error>(HasSubstr("cannot be opened")));
    });
}

TEST(nats_login, tls) {
    nats_server server("tls { cert_file: \"DIR/cert\", key_file: \"DIR/key\", timeout: 10 }");
    const auto pair = weft::tls::self_signed({"localhost", "127.0.0.1"});
    std::ofstream(server.folder() + "/cert") << pair.certificate;
    std::ofstream(server.folder() + "/key") << pair.key;
    server.start();
    weft::run([&] {
        const weft::tls::context trusts({.ca = pair.certificate}), trusts_not;
        EXPECT_EQ(use({.servers = {"tls://" + server.address()}, .tls = &trusts}), "good");
        EXPECT_EQ(use({.servers = {server.url()}, .tls = &trusts}), "good");
        EXPECT_THAT(refused_by({.servers = {"tls://" + server.address()}, .tls = &trusts_not}), HasSubstr("certificate"));
        EXPECT_THAT(refused_by({.servers = {server.url()}}), HasSubstr("client_options::tls is empty"));
        nats::client c({.servers = {server.url()}, .tls = &trusts});
        auto in = c.subscribe("s");
        c.publish("s", std::string(500'000, 'x'));
        EXPECT_EQ(in.receive()->payload.size(), 500'000u);
    });
}

TEST(nats_login, a_permission_that_is_missing_is_told_and_the_connection_goes_on) {
    nats_server server("authorization { users = [ { user: a, password: b, permissions: { publish: \"open.>\" } } ] }");
    server.start();
    weft::run([&] {
        weft::channel<std::string> told{weft::unbounded};
        nats::client c({.servers = {server.url()}, .user = "a", .password = "b", .on_event = [=](const nats::event& e) {
                            if (e.what == nats::event::kind::server_error) told.send(e.text);
                        }});
        c.publish("closed", "");
        EXPECT_THAT(told.receive().value(), HasSubstr("Permissions Violation"));
        c.flush();
        EXPECT_EQ(c.stats().reconnects, 0u);
    });
}

TEST(nats_login, options_that_are_wrong) {
    weft::run([&] {
        for (const auto* url : {"", "http://a", "nats://", "nats://a:0", "nats://a:99999", "tls://[::1"})
            EXPECT_THROW(nats::client({.servers = {url}}), std::invalid_argument) << url;
        EXPECT_THROW(nats::client({.servers = {}}), std::invalid_argument);
        EXPECT_THROW(nats::client({.pending_bytes = 0}), std::invalid_argument);
        EXPECT_THROW(nats::client({.inbox_prefix = "a.*"}), nats::error);
    });
    EXPECT_THROW(nats::client(), std::logic_error);
}

}  // namespace

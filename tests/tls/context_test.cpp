// context_test.cpp - what both ends agree on, who is trusted, and what each refusal is called.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <weft/blocking.hpp>
#include <weft/deadline.hpp>
#include <weft/net/tls.hpp>

#include "tls/ssl.hpp"
#include "tls/support/both_ends.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

/// A client of the past: OpenSSL's own, with at most TLS 1.2.
class old_client {
public:
    explicit old_client(const char* name) : context_(SSL_CTX_new(TLS_client_method())) {
        SSL_CTX_set_max_proto_version(context_.get(), TLS1_2_VERSION);
        ssl_.reset(SSL_new(context_.get()));
        SSL_set_tlsext_host_name(ssl_.get(), name);
    }
    bool connects(tcp::stream& through) const {
        const int fd = through.native_handle();
        return weft::blocking([&] {
            ::fcntl(fd, F_SETFL, 0);
            SSL_set_fd(ssl_.get(), fd);
            return SSL_connect(ssl_.get()) == 1;
        });
    }

private:
    const std::unique_ptr<SSL_CTX, detail::freed_by<SSL_CTX_free>> context_;
    detail::ssl_ptr ssl_;
};

class tls_context : public testing::Test {
protected:
    /// The errors of both ends, with these contexts.
    static handshakes errors(const tls::context& client, const tls::context& server,
                             tls::connect_options options = {.server_name = "localhost"}) {
        handshakes h;
        run([&] {
            h = shake(client, server, options);
            // What a server says of a client's certificate in TLS 1.3 comes after the client's handshake.
            if (!h.client && h.server) {
                std::array<std::byte, 1> buffer;
                h.made.client.read_some(buffer, h.client);
            }
        });
        return h;
    }

    const authority& ca = test_authority();
};

TEST_F(tls_context, an_expired_certificate_is_refused) {
    const tls::context server(server_options(ca.issue({.begins = -48h, .ends = -1h}))), client(client_options());
    const auto h = errors(client, server);
    EXPECT_EQ(h.client, tls::errc::certificate_expired) << h.client_words;
    EXPECT_EQ(h.server, tls::errc::refused_by_peer) << h.server_words;
    EXPECT_NE(h.server_words.find("expired"), std::string::npos) << h.server_words;
}

TEST_F(tls_context, one_that_is_not_valid_yet_is_refused) {
    const tls::context server(server_options(ca.issue({.begins = 24h, .ends = 48h}))), client(client_options());
    EXPECT_EQ(errors(client, server).client, tls::errc::certificate_not_yet_valid);
}

TEST_F(tls_context, one_of_another_name_is_refused) {
    const tls::context server(server_options(ca.issue({.names = {"other.example", "*.wild.example"}}))), client(client_options());
    EXPECT_EQ(errors(client, server).client, tls::errc::certificate_wrong_name);
    EXPECT_EQ(errors(client, server, {.server_name = "127.0.0.1"}).client, tls::errc::certificate_wrong_name);
    EXPECT_EQ(errors(client, server, {.server_name = "a.b.wild.example"}).client, tls::errc::certificate_wrong_name);
    EXPECT_FALSE(errors(client, server, {.server_name = "a.wild.example"}).client);
    EXPECT_FALSE(errors(client, server, {.server_name = "OTHER.example"}).client);
}

TEST_F(tls_context, one_that_is_signed_by_itself_is_refused) {
    const tls::context server(server_options(self_signed())), client(client_options());
    EXPECT_EQ(errors(client, server).client, tls::errc::certificate_self_signed);
}

TEST_F(tls_context, one_of_an_unknown_authority_is_refused) {
    const authority other("another authority");
    const tls::context server(server_options(other.issue())), client(client_options()), of_system;
    EXPECT_EQ(errors(client, server).client, tls::errc::certificate_unknown_authority);
    EXPECT_EQ(errors(of_system, server).client, tls::errc::certificate_unknown_authority);
}

TEST_F(tls_context, a_revoked_one_is_refused) {
    const auto id = ca.issue();
    const tls::context server(server_options(id)), client({.ca = ca.certificate() + ca.revoke(id.certificate)});
    EXPECT_EQ(errors(client, server).client, tls::errc::certificate_revoked);
    const tls::context still_good(server_options());
    EXPECT_FALSE(errors(client, still_good).client);
}

TEST_F(tls_context, nothing_is_checked_if_that_is_asked_for) {
    const tls::context server(server_options(self_signed({.ends = -1h}))), client({.verify = tls::peer_check::none});
    EXPECT_FALSE(errors(client, server, {}).client);
}

TEST_F(tls_context, a_client_must_name_its_server) {
    const tls::context server(server_options()), client(client_options());
    EXPECT_THROW(errors(client, server, {}), std::invalid_argument);
    EXPECT_THROW(errors(client, server, {.server_name = std::string("local\0host", 10)}), std::invalid_argument);
    EXPECT_THROW(errors(client, server, {.server_name = std::string(300, 'a')}), std::invalid_argument);
    EXPECT_THROW(errors(client, server, {.server_name = ".example.org"}), std::invalid_argument);
    EXPECT_FALSE(errors(client, server, {.server_name = "localhost."}).client);
}

TEST_F(tls_context, a_client_shows_its_certificate) {
    auto o = server_options();
    o.ca = ca.certificate();
    o.verify = tls::peer_check::required;
    const tls::context server(o);
    auto with = client_options();
    const auto id = ca.issue({.names = {"alice.example"}, .common_name = "alice"});
    with.certificate_chain = id.certificate;
    with.private_key = id.key;
    run([&] {
        auto [c, s] = connected(tls::context(with), server);
        const auto seen = s.peer();
        ASSERT_TRUE(seen);
        EXPECT_EQ(seen->subject, "CN=alice");
        EXPECT_EQ(seen->issuer, "CN=weft test authority");
        EXPECT_EQ(seen->names, std::vector<std::string>{"alice.example"});
        EXPECT_EQ(seen->pem, id.certificate);
        EXPECT_EQ(seen->sha256.size(), 64u);
        EXPECT_FALSE(seen->serial.empty());
        EXPECT_LT(seen->not_before, std::chrono::system_clock::now());
        EXPECT_GT(seen->not_after, std::chrono::system_clock::now());
        ASSERT_TRUE(c.peer());
        EXPECT_EQ(c.peer()->names, (std::vector<std::string>{"localhost", "127.0.0.1"}));
    });

    const tls::context without(client_options());
    const auto none = errors(without, server);
    EXPECT_EQ(none.server, tls::errc::certificate_missing);
    EXPECT_EQ(none.client, tls::errc::refused_by_peer);
    with = client_options();
    const auto stranger = authority("stranger").issue();
    with.certificate_chain = stranger.certificate;
    with.private_key = stranger.key;
    EXPECT_EQ(errors(tls::context(with), server).server, tls::errc::certificate_unknown_authority);

    o.verify = tls::peer_check::optional;
    const tls::context lenient(o);
    EXPECT_FALSE(errors(without, lenient).server);
    EXPECT_EQ(errors(tls::context(with), lenient).server, tls::errc::certificate_unknown_authority);
}

TEST_F(tls_context, the_protocol_is_the_first_of_the_servers_that_both_have) {
    auto of_server = server_options();
    of_server.alpn = {"h2", "http/1.1"};
    const tls::context server(of_server);
    const auto chosen = [&](std::vector<std::string> offered) {
        auto o = client_options();
        o.alpn = std::move(offered);
        std::string name;
        run([&] {
            auto [c, s] = connected(tls::context(o), server);
            EXPECT_EQ(c.alpn(), s.alpn());
            name = c.alpn();
        });
        return name;
    };
    EXPECT_EQ(chosen({"http/1.1"}), "http/1.1");
    EXPECT_EQ(chosen({"http/1.1", "h2"}), "h2");
    EXPECT_EQ(chosen({}), "");
    auto o = client_options();
    o.alpn = {"smtp"};
    const auto h = errors(tls::context(o), server);
    EXPECT_EQ(h.server, tls::errc::no_common_protocol);
    EXPECT_EQ(h.client, tls::errc::no_common_protocol);
}

TEST_F(tls_context, the_version_is_one_that_both_accept) {
    auto of_server = server_options();
    of_server.least = tls::version::tls1_3;
    const tls::context server(of_server), client(client_options());
    run([&] { EXPECT_EQ(connected(client, server).client.version(), tls::version::tls1_3); });
    run([&] {
        auto [near, far] = tcp_pair();
        std::error_code error;
        auto serving = spawn([&, below = std::move(far)]() mutable { tls::stream::accept(std::move(below), server, error); });
        EXPECT_FALSE(old_client("localhost").connects(near));
        serving.join();
        EXPECT_EQ(error, tls::errc::no_common_version);
    });
}

TEST_F(tls_context, what_is_no_tls_is_named) {
    const tls::context server(server_options()), client(client_options());
    run([&] {
        auto [near, far] = tcp_pair();
        near.write_all("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
        std::error_code error;
        tls::stream::accept(std::move(far), server, error);
        EXPECT_EQ(error, tls::errc::not_tls);
    });
    run([&] {
        auto [near, far] = tcp_pair();
        far.write_all("220 mail.example ESMTP\r\n");
        std::error_code error;
        tls::stream::connect(std::move(near), client, {.server_name = "localhost"}, error);
        EXPECT_EQ(error, tls::errc::not_tls);
    });
    run([&] {
        auto [near, far] = tcp_pair();
        near.close();
        std::error_code error;
        tls::stream::accept(std::move(far), server, error);
        EXPECT_EQ(error, tls::errc::truncated);
    });
    run([&] {
        auto [near, far] = tcp_pair();
        std::error_code error;
        with_timeout(20ms, [&, &below = far] { tls::stream::accept(std::move(below), server, error); });
        EXPECT_EQ(error, std::errc::timed_out);
        std::array<std::byte, 1> buffer;
        EXPECT_EQ(near.read_some(buffer), 0u) << "the connection is closed";
    });
}

TEST_F(tls_context, a_server_needs_a_certificate) {
    const tls::context none, client(client_options());
    const auto h = errors(client, none);
    EXPECT_EQ(h.server, tls::errc::no_certificate_here);
}

TEST_F(tls_context, sessions_are_resumed) {
    const tls::context server(server_options()), client(client_options());
    run([&] {
        {
            auto [c, s] = connected(client, server);
            EXPECT_FALSE(c.resumed());
            s.write_all("x");  // the tickets come before it
            read_text(c, 1);
        }
        auto [c, s] = connected(client, server);
        EXPECT_TRUE(c.resumed() && s.resumed());
        EXPECT_EQ(s.server_name(), "localhost");
        const auto third = connected(client, server, {.server_name = "127.0.0.1"});
        EXPECT_FALSE(third.client.resumed()) << "that was another name";
        const auto fourth = connected(client, server, {.server_name = "localhost", .resume = false});
        EXPECT_FALSE(fourth.client.resumed());
    });
}

TEST_F(tls_context, servers_with_one_secret_resume_each_others_sessions) {
    auto o = server_options();
    o.ticket_secret = std::string(32, 's');
    const tls::context one(o), two(o), alone(server_options()), client(client_options());
    run([&] {
        const auto resumed_at = [&](const tls::context& server) {
            auto [c, s] = connected(client, server);
            s.write_all("x");
            read_text(c, 1);
            return c.resumed();
        };
        EXPECT_FALSE(resumed_at(one));
        EXPECT_TRUE(resumed_at(two));
        EXPECT_FALSE(resumed_at(alone));
    });
}

TEST_F(tls_context, no_session_is_resumed_where_the_client_is_checked_otherwise) {
    tls::context server(server_options());
    auto of_client = client_options();
    const auto id = ca.issue({.common_name = "alice"});
    of_client.certificate_chain = id.certificate;
    of_client.private_key = id.key;
    const tls::context client(of_client);
    run([&] {
        const auto meet = [&] {
            auto [c, s] = connected(client, server);
            s.write_all("x");
            read_text(c, 1);
            return std::pair(s.resumed(), s.peer().has_value());
        };
        EXPECT_EQ(meet(), std::pair(false, false));
        EXPECT_EQ(meet(), std::pair(true, false));
        auto strict = server_options();
        strict.ca = ca.certificate();
        strict.verify = tls::peer_check::required;
        server.reload(strict);
        EXPECT_EQ(meet(), std::pair(false, true));
        EXPECT_EQ(meet(), std::pair(true, true));
    });
}

/// Whether the server has a client's certificate, and has resumed a session, for each of two connections.
std::vector<std::pair<bool, bool>> two_meetings(const tls::context& client, tls::context& server, const std::string& first_name,
                                                const std::string& second_name, const std::function<void()>& between) {
    std::vector<std::pair<bool, bool>> seen;
    run([&] {
        for (const auto& name : {first_name, second_name}) {
            auto h = shake(client, server, {.server_name = name});
            if (h.client || h.server) {
                seen.emplace_back(false, false);
                continue;
            }
            h.made.server.write_all("x");
            read_text(h.made.client, 1);
            seen.emplace_back(h.made.server.peer().has_value(), h.made.server.resumed());
            if (seen.size() == 1) between();
        }
    });
    return seen;
}

TEST_F(tls_context, a_session_of_a_lenient_name_opens_no_strict_one) {
    auto strict = server_options(ca.issue({.names = {"strict.example"}}));
    strict.ca = ca.certificate();
    strict.verify = tls::peer_check::required;
    auto lenient = server_options(ca.issue({.names = {"strict.example"}}));
    for (const auto least : {tls::version::tls1_2, tls::version::tls1_3}) {
        tls::context server(server_options(ca.issue({.names = {"localhost", "strict.example"}})));
        server.by_name("strict.example", strict);
        auto of_client = client_options();
        of_client.least = least;
        of_client.verify = tls::peer_check::none;
        const tls::context client(of_client);
        const auto across = two_meetings(client, server, "localhost", "strict.example", [] {});
        EXPECT_EQ(across, (std::vector<std::pair<bool, bool>>{{false, false}, {false, false}}));
        EXPECT_EQ(errors(client, server, {.server_name = "strict.example."}).server, tls::errc::certificate_missing);

        server.by_name("strict.example", lenient);
        two_meetings(client, server, "strict.example", "strict.example", [&] { server.by_name("strict.example", strict); });
        EXPECT_EQ(errors(client, server, {.server_name = "strict.example"}).server, tls::errc::certificate_missing);
    }
}

TEST_F(tls_context, a_client_forgets_sessions_that_it_has_judged_by_other_options) {
    const auto stranger = authority("stranger").issue();
    tls::context server(server_options(stranger));
    tls::context client({.verify = tls::peer_check::none});
    run([&] {
        auto [c, s] = connected(client, server);
        client.reload(client_options());
        s.write_all("x");  // the ticket comes after the reload
        read_text(c, 1);
    });
    EXPECT_EQ(errors(client, server).client, tls::errc::certificate_unknown_authority);
}

TEST_F(tls_context, a_new_secret_holds_for_all_names) {
    auto o = server_options();
    o.ticket_secret = std::string(32, 'a');
    tls::context server(o);
    server.by_name("one.example", server_options(ca.issue({.names = {"one.example"}})));
    o.ticket_secret = std::string(32, 'b');
    server.reload(o);
    const tls::context client(client_options());
    for (const bool resumed : {false, true}) {
        run([&] {
            auto [c, s] = connected(client, server, {.server_name = "one.example"});
            s.write_all("x");
            read_text(c, 1);
            EXPECT_EQ(c.resumed(), resumed);
        });
    }
}

TEST_F(tls_context, the_least_version_is_that_of_the_name) {
    tls::context server(server_options());
    auto strict = server_options(ca.issue({.names = {"new.example"}}));
    strict.least = tls::version::tls1_3;
    server.by_name("new.example", strict);
    for (const char* name : {"localhost", "new.example"}) {
        run([&] {
            const old_client client(name);
            auto [near, far] = tcp_pair();
            std::error_code error;
            auto serving = spawn([&, below = std::move(far)]() mutable { tls::stream::accept(std::move(below), server, error); });
            const bool succeeds = std::string(name) == "localhost";
            EXPECT_EQ(client.connects(near), succeeds);
            near.close();
            serving.join();
            if (!succeeds) {
                EXPECT_EQ(error, tls::errc::no_common_version);
            }
        });
    }
}

TEST_F(tls_context, a_session_life_of_zero_ends_resumption) {
    auto o = server_options();
    o.session_life = 0s;
    const tls::context server(o), client(client_options());
    run([&] {
        for (int i = 0; i < 2; ++i) {
            auto [c, s] = connected(client, server);
            s.write_all("x");
            read_text(c, 1);
            EXPECT_FALSE(c.resumed());
        }
    });
}

TEST_F(tls_context, reloading_concerns_new_connections_only) {
    tls::context server(server_options(ca.issue({.common_name = "old"})));
    const tls::context client(client_options());
    run([&] {
        auto [c, s] = connected(client, server, {.server_name = "localhost", .resume = false});
        EXPECT_EQ(c.peer()->subject, "CN=old");
        server.reload(server_options(ca.issue({.common_name = "new"})));
        c.write_all("still");
        EXPECT_EQ(read_text(s, 5), "still");
        const auto next = connected(client, server, {.server_name = "localhost", .resume = false});
        EXPECT_EQ(next.client.peer()->subject, "CN=new");
        EXPECT_THROW(server.reload({.certificate_chain = "nonsense", .private_key = "nonsense"}), std::system_error);
        EXPECT_EQ(connected(client, server, {.server_name = "localhost", .resume = false}).client.peer()->subject, "CN=new");
    });
}

TEST_F(tls_context, the_name_that_is_asked_for_chooses_the_certificate) {
    tls::context server(server_options());
    server.by_name("One.example", server_options(ca.issue({.names = {"one.example"}, .common_name = "one"})));
    server.by_name("*.wild.example", server_options(ca.issue({.names = {"*.wild.example"}, .common_name = "any"})));
    const tls::context client(client_options());
    run([&] {
        const auto subject = [&](std::string name) {
            return connected(client, server, {.server_name = std::move(name)}).client.peer()->subject;
        };
        EXPECT_EQ(subject("one.example"), "CN=one");
        EXPECT_EQ(subject("ONE.example"), "CN=one");
        EXPECT_EQ(subject("two.wild.example"), "CN=any");
        EXPECT_EQ(subject("localhost"), "CN=weft test");
        server.by_name("one.example", server_options(ca.issue({.names = {"one.example"}, .common_name = "newer"})));
        EXPECT_EQ(connected(client, server, {.server_name = "one.example", .resume = false}).client.peer()->subject, "CN=newer");
    });
    EXPECT_EQ(errors(client, server, {.server_name = "a.two.example"}).client, tls::errc::certificate_wrong_name);
    EXPECT_THROW(server.by_name("", server_options()), std::invalid_argument);
    EXPECT_THROW(server.by_name("no-certificate.example", {}), std::invalid_argument);
}

TEST_F(tls_context, only_clients_of_one_host_need_a_certificate) {
    tls::context server(server_options());
    auto strict = server_options(ca.issue({.names = {"inner.example"}}));
    strict.ca = ca.certificate();
    strict.verify = tls::peer_check::required;
    server.by_name("inner.example", strict);
    const tls::context client(client_options());
    EXPECT_FALSE(errors(client, server).server);
    EXPECT_EQ(errors(client, server, {.server_name = "inner.example"}).server, tls::errc::certificate_missing);
}

/// What the constructor says of the options.
std::string complaint(const tls::context_options& o) {
    try {
        const tls::context c(o);
        run([&] { shake(c, tls::context(server_options())); });
    } catch (const std::exception& e) {
        return e.what();
    }
    return "nothing";
}

TEST_F(tls_context, bad_options_are_named) {
    const auto id = ca.issue(), other = ca.issue();
    const auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
    const auto missing = complaint({.certificate_chain = "/nowhere/cert.pem", .private_key = "/nowhere/key.pem"});
    EXPECT_TRUE(has(missing, "certificate_chain: cannot read /nowhere/cert.pem: No such file")) << missing;
    const auto mixed = complaint({.certificate_chain = id.certificate, .private_key = other.key});
    EXPECT_TRUE(has(mixed, "private_key is not that of the first certificate")) << mixed;
    const auto alone = complaint({.certificate_chain = id.certificate});
    EXPECT_TRUE(has(alone, "private_key is not")) << alone;
    const auto swapped = complaint({.certificate_chain = id.key, .private_key = id.certificate});
    EXPECT_TRUE(has(swapped, "certificate_chain has no certificate")) << swapped;
    const auto broken =
        complaint({.certificate_chain = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", .private_key = id.key});
    EXPECT_TRUE(has(broken, "certificate_chain is not good")) << broken;
    const auto keyless = complaint({.certificate_chain = id.certificate, .private_key = id.certificate});
    EXPECT_TRUE(has(keyless, "private_key has no private key")) << keyless;
    const auto suites = complaint({.ciphers = "NONSENSE"});
    EXPECT_TRUE(has(suites, "ciphers is \"NONSENSE\"")) << suites;
    const auto protocol = complaint({.alpn = {std::string(256, 'x')}});
    EXPECT_TRUE(has(protocol, "alpn has a name of 256 bytes")) << protocol;
    const auto life = complaint({.session_life = -1s});
    EXPECT_TRUE(has(life, "session_life is -1 s")) << life;
    const auto secret = complaint({.ticket_secret = "short"});
    EXPECT_TRUE(has(secret, "ticket_secret has 5 bytes")) << secret;
    auto nobody = server_options(id);
    nobody.verify = tls::peer_check::required;
    const auto any_authority = complaint(nobody);
    EXPECT_TRUE(has(any_authority, "ca is empty")) << any_authority;
    const auto trust = complaint({.ca = id.key});
    EXPECT_TRUE(has(trust, "ca has no certificate")) << trust;
}

TEST_F(tls_context, files_serve_as_well_as_texts) {
    const auto id = ca.issue();
    const auto path = testing::TempDir() + "weft_tls_" + std::to_string(::getpid());
    std::ofstream(path + ".crt") << id.certificate;
    std::ofstream(path + ".key") << id.key;
    std::ofstream(path + ".ca") << ca.certificate();
    const tls::context server({.certificate_chain = path + ".crt", .private_key = "file:" + path + ".key"}),
        client({.ca = path + ".ca"});
    const auto h = errors(client, server);
    EXPECT_FALSE(h.client) << h.client_words;
    for (const char* end : {".crt", ".key", ".ca"}) std::remove((path + end).c_str());
}

TEST_F(tls_context, a_pair_for_development_is_trusted_where_that_is_said) {
    const auto pair = tls::self_signed({"localhost", "127.0.0.1", "::1", "dev.example"});
    const tls::context server({.certificate_chain = pair.certificate, .private_key = pair.key}), client({.ca = pair.certificate}),
        other;
    for (const char* name : {"localhost", "127.0.0.1", "::1", "dev.example"})
        EXPECT_FALSE(errors(client, server, {.server_name = name}).client);
    EXPECT_EQ(errors(client, server, {.server_name = "other.example"}).client, tls::errc::certificate_wrong_name);
    EXPECT_EQ(errors(other, server).client, tls::errc::certificate_self_signed);
    EXPECT_THROW(static_cast<void>(tls::self_signed({})), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(tls::self_signed({"a,DNS:b"})), std::invalid_argument);
}

TEST_F(tls_context, connections_outlive_it) {
    run([&] {
        auto [c, s] = connected(tls::context(client_options()), tls::context(server_options()));
        c.write_all("alone");
        EXPECT_EQ(read_text(s, 5), "alone");
    });
}

}  // namespace
}  // namespace weft::test

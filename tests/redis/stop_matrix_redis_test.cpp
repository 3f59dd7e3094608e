// stop_matrix_redis_test.cpp - commands that wait for their replies, interrupted in all ways.
#include "support/stop_matrix.hpp"

#include <weft/net/simulated_network.hpp>
#include <weft/redis/client.hpp>

#include <array>
#include <memory>

namespace weft::test::matrix {
namespace {

class interruption_of_a_command : public interruption {};
TEST_P(interruption_of_a_command, is_as_documented) { check(); }

const net::endpoint store{.host = "store", .port = 6379};

/// A server at which each command of a test arrives in one read, and a client of it.
class shop {
public:
    explicit shop(scene& s, redis::client_options options = {}) {
        options.connections = 1;
        options.connect = [this](const net::endpoint& at) { return io::byte_stream(net_.connect("here", at)); };
        db = s.prepare([&] { return std::make_unique<redis::client>("redis://store", options); });
    }

    void answer(std::string_view reply) {
        peer_ = listener_.accept();
        std::array<std::byte, 100> command;
        peer_.read_some(command);
        io::write_all(peer_, reply);
    }

private:
    net::simulated_network net_;
    net::simulated_listener listener_ = net_.listen(store);
    net::simulated_stream peer_;

public:
    std::unique_ptr<redis::client> db;  // declared after the network through which it connects
};

void a_reply(scene& s) {
    shop at(s);
    s.wait_for_signal([&] { at.answer("+PONG\r\n"); }, [&] { EXPECT_EQ(at.db->command("PING").text(), "PONG"); });
}

void a_reply_in_a_session(scene& s) {
    shop at(s);
    s.wait_for_signal([&] { at.answer("*-1\r\n"); },
                      [&] { at.db->exclusive([](redis::session& own) { EXPECT_TRUE(own.command("BLPOP", "k", 0).is_nil()); }); });
}

void a_subscription(scene& s) {
    shop at(s);
    s.wait_for_signal([&] { at.answer("*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n"); },
                      [&] { EXPECT_FALSE(at.db->subscribe("c").closed()); });
}

std::vector<park_point> of_commands() {  // a client needs a runtime
    return {{.name = "a_reply", .park = a_reply, .on_thread = outcome::untried},
            {.name = "a_reply_in_a_session", .park = a_reply_in_a_session, .on_thread = outcome::untried},
            {.name = "a_subscription", .park = a_subscription, .on_thread = outcome::untried}};
}

INSTANTIATE_TEST_SUITE_P(all, interruption_of_a_command, ::testing::ValuesIn(rows_of(of_commands())),
                         [](const auto& each) { return name_of(each.param); });

}  // namespace
}  // namespace weft::test::matrix

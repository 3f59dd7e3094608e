// stop_matrix_redis_test.cpp - a command that waits for its reply, interrupted in all ways.
#include "support/stop_matrix.hpp"

#include <weft/net/simulated_network.hpp>
#include <weft/redis/client.hpp>

#include <array>
#include <memory>

namespace weft::test::matrix {
namespace {

class interruption_of_a_command : public interruption {};
TEST_P(interruption_of_a_command, is_as_documented) { check(); }

void a_reply(scene& s) {
    net::simulated_network net;
    const net::endpoint store{.host = "store", .port = 6379};
    auto listener = net.listen(store);
    const auto connect = [&](const net::endpoint& at) { return io::byte_stream(net.connect("here", at)); };
    const auto db = s.prepare([&] {
        return std::make_unique<redis::client>("redis://store", redis::client_options{.connections = 1, .connect = connect});
    });
    net::simulated_stream peer;
    const auto answer = [&] {
        peer = listener.accept();
        std::array<std::byte, 100> command;
        peer.read_some(command);
        io::write_all(peer, "+PONG\r\n");
    };
    s.wait_for_signal(answer, [&] { EXPECT_EQ(db->command("PING").text(), "PONG"); });
}

std::vector<park_point> of_commands() {
    return {{.name = "a_reply", .park = a_reply, .on_thread = outcome::untried}};  // a client needs a runtime
}

INSTANTIATE_TEST_SUITE_P(all, interruption_of_a_command, ::testing::ValuesIn(rows_of(of_commands())),
                         [](const auto& each) { return name_of(each.param); });

}  // namespace
}  // namespace weft::test::matrix

// stop_matrix_tls_test.cpp - TLS connections, interrupted in all ways, in the throwing forms and in those with an error_code.
#include "support/stop_matrix.hpp"

#include <weft/net/tls.hpp>
#include <weft/select.hpp>

#include <array>
#include <vector>

#include "tls/support/both_ends.hpp"

using namespace std::chrono_literals;

namespace weft::test::matrix {
namespace {

class interruption_of_tls : public interruption {};
TEST_P(interruption_of_tls, is_as_documented) { check(); }

const tls::context& of_server() {
    static const tls::context one(server_options());
    return one;
}
const tls::context& of_client() {
    static const tls::context one(client_options());
    return one;
}

/// Two connected streams, made by a party that may be stopped already.
struct connection {
    explicit connection(scene& s) {
        s.prepare([&] {
            auto [below_near, below_far] = tcp_pair();
            auto serving =
                s.helper().spawn([&, &below = below_far] { far = tls::stream::accept(std::move(below), of_server()); });
            near = tls::stream::connect(std::move(below_near), of_client(), {.server_name = "localhost"});
            serving.join();
        });
    }
    tls::stream near, far;
    std::array<std::byte, 4> some{};
};

park_point reading(std::string name, std::function<void(scene&, connection&)> reads) {
    return {std::move(name), [=](scene& s) {
                connection c(s);
                s.wait_for_signal([&] { c.far.write_all("abcd"); }, [&] { reads(s, c); });
            }};
}

/// The other side reads everything after the delay; `writes` gets more than the buffers hold.
park_point writing(std::string name, std::function<void(scene&, connection&, std::string_view)> writes) {
    return {std::move(name), [=](scene& s) {
                connection c(s);
                const std::string much(16 << 20, 'x');
                s.wait_for_signal(
                    [&] {
                        std::vector<std::byte> buffer(1 << 20);
                        const shield until_the_end;
                        std::error_code error;
                        while (c.far.read_some(buffer, error) != 0) {}
                    },
                    [&] {
                        struct ends_the_stream {
                            tls::stream& of;
                            ~ends_the_stream() { of.close(); }
                        } const end{c.near};
                        writes(s, c, much);
                    });
            }};
}

/// The other side does its part of the handshake after the delay.
template <class There, class Here>
park_point shaking(std::string name, There there, Here here) {
    return {std::move(name), [=](scene& s) {
                auto ends = s.prepare(tcp_pair);
                s.wait_for_signal(
                    [&] {
                        const shield until_the_end;
                        std::error_code error;
                        there(std::move(ends.second), error);
                    },
                    [&] { here(s, std::move(ends.first)); });
            }};
}

std::vector<park_point> of_tls() {
    const auto stay = [](tls::stream s, std::error_code& error) {  // so that the other end can finish
        std::array<std::byte, 1> buffer;
        if (!error) s.read_some(buffer, error);
    };
    const auto serve = [=](tcp::stream below, std::error_code& error) {
        stay(tls::stream::accept(std::move(below), of_server(), error), error);
    };
    const auto ask = [=](tcp::stream below, std::error_code& error) {
        stay(tls::stream::connect(std::move(below), of_client(), {.server_name = "localhost"}, error), error);
    };
    return {
        reading("read_some", [](scene&, connection& c) { EXPECT_EQ(c.near.read_some(c.some), 4u); }),
        reading("read_some_by_error_code",
                [](scene& s, connection& c) {
                    std::error_code error;
                    c.near.read_some(c.some, error);
                    s.reported(error);
                }),
        reading("wait_readable", [](scene&, connection& c) { c.near.wait_readable(); }),
        reading("select_on_readable", [](scene&, connection& c) { select(on_readable(c.near)); }),
        writing("write_all", [](scene&, connection& c, std::string_view much) { c.near.write_all(much); }),
        writing("write_all_by_error_code",
                [](scene& s, connection& c, std::string_view much) {
                    std::error_code error;
                    const auto written = c.near.write_all(much, error);
                    EXPECT_TRUE(error || written == much.size());
                    s.reported(error);
                }),
        shaking(
            "connect", serve,
            [](scene&, tcp::stream below) { tls::stream::connect(std::move(below), of_client(), {.server_name = "localhost"}); }),
        shaking("connect_by_error_code", serve,
                [](scene& s, tcp::stream below) {
                    std::error_code error;
                    tls::stream::connect(std::move(below), of_client(), {.server_name = "localhost"}, error);
                    s.reported(error);
                }),
        shaking("accept", ask, [](scene&, tcp::stream below) { tls::stream::accept(std::move(below), of_server()); }),
        shaking("accept_by_error_code", ask,
                [](scene& s, tcp::stream below) {
                    std::error_code error;
                    tls::stream::accept(std::move(below), of_server(), error);
                    s.reported(error);
                }),
    };
}

INSTANTIATE_TEST_SUITE_P(all, interruption_of_tls, ::testing::ValuesIn(rows_of(of_tls())),
                         [](const auto& each) { return name_of(each.param); });

}  // namespace
}  // namespace weft::test::matrix

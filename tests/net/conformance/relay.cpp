// relay.cpp - passes TCP connections and datagrams on to another port of this machine: what iperf3 measures through.
//
//     relay PORT       prints the port that it listens on, of TCP and UDP, and ends by SIGTERM
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include <weft/io/copy.hpp>
#include <weft/io/signal.hpp>
#include <weft/net/tcp.hpp>
#include <weft/net/udp.hpp>
#include <weft/weft.hpp>

namespace {

void pass_on(weft::tcp::stream from, const weft::net::endpoint& target) {
    auto to = weft::tcp::stream::connect(target);
    weft::io::relay(from, to);
}

/// Each sender has a socket of its own towards the target, so that its answers find back.
void pass_datagrams_on(weft::udp::socket& at, const weft::udp::address& target) {
    struct line {
        weft::udp::address sender;
        weft::udp::socket socket{weft::net::endpoint{.host = "127.0.0.1"}};
    };
    std::map<std::string, std::shared_ptr<line>> lines;
    weft::with_scope([&](weft::scope& answers) {
        weft::udp::batch room;
        for (;;)
            for (const weft::udp::arrival& d : at.receive(room)) {
                auto& known = lines[to_string(d.from.endpoint())];
                if (!known) {
                    known = std::make_shared<line>();
                    known->sender = d.from;
                    known->socket.connect(target);
                    answers.spawn([&at, known] {
                        weft::udp::batch back;
                        for (std::error_code error; error != std::errc::operation_canceled;)
                            for (const weft::udp::arrival& answer : known->socket.receive(back, error))
                                at.send_to(known->sender, answer.data, error);
                    });
                }
                std::error_code nobody_is_there;
                known->socket.send_to({}, d.data, nobody_is_there);
            }
    });
}

}  // namespace

int main(int, char** argv) {
    const weft::net::endpoint target{.host = "127.0.0.1", .port = static_cast<std::uint16_t>(std::atoi(argv[1]))};
    weft::run([&] {
        weft::io::signals ends({SIGINT, SIGTERM});
        weft::tcp::listener listener({.host = "127.0.0.1"});
        weft::udp::socket datagrams(listener.local());
        std::cout << listener.local().port << std::endl;
        weft::with_scope([&](weft::scope& all) {
            all.spawn([&] { pass_datagrams_on(datagrams, weft::udp::address(target)); });
            all.spawn([&] {
                weft::with_scope([&](weft::scope& connections) {
                    for (weft::tcp::stream peer : listener)
                        connections.spawn([&target, peer = std::move(peer)]() mutable {
                            try {
                                pass_on(std::move(peer), target);
                            } catch (const std::system_error&) {  // one side has gone
                            }
                        });
                });
            });
            ends.wait();
            all.request_stop();
        });
    });
}

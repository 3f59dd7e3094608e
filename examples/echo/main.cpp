// The echo server: every connection is a fiber that reads and writes; Ctrl-C or SIGTERM ends it in an orderly way.
#include <array>
#include <csignal>
#include <exception>
#include <iostream>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <weft/io/limits.hpp>
#include <weft/io/signal.hpp>
#include <weft/net/tcp.hpp>
#include <weft/runtime.hpp>
#include <weft/scope.hpp>

namespace {

using namespace std::chrono_literals;

weft::net::endpoint parse_arguments(int argc, char** argv) {
    if (argc == 1) return {.host = "127.0.0.1", .port = 7000};
    if (argc == 3 && std::string_view(argv[1]) == "--listen") return weft::net::endpoint::parse(argv[2]);
    throw std::invalid_argument("usage: echo [--listen HOST:PORT]");
}

void echo(weft::tcp::stream& peer) {
    std::array<std::byte, 4096> buffer;
    while (std::size_t n = peer.read_some(buffer))  // 0 at end of stream
        peer.write_all(std::span(buffer).first(n));
}

void serve(const weft::net::endpoint& at) {
    weft::io::signals end({SIGINT, SIGTERM});
    weft::tcp::listener listener(at);
    std::cout << "echo: listening on " << to_string(listener.local()) << std::endl;

    weft::with_scope({.on_failure = weft::on_failure::report}, [&](weft::scope& connections) {  // one reset stops nobody else
        auto stopper = connections.spawn([&] {
            end.wait();
            listener.close();  // ends the loop below
        });
        for (weft::tcp::stream peer : listener) connections.spawn([peer = std::move(peer)]() mutable { echo(peer); });
        std::cout << "echo: stopping, " << connections.size() << " connections open" << std::endl;
        connections.request_stop();
    });
}

}  // namespace

int main(int argc, char** argv) {
    weft::net::endpoint at;
    try {
        at = parse_arguments(argc, argv);
    } catch (const std::invalid_argument& e) {
        std::cerr << e.what() << '\n';
        return 2;
    }
    try {
        weft::io::raise_descriptor_limit();
        weft::run([&] { serve(at); });
        return 0;
    } catch (const std::exception& e) {
        std::cerr << e.what() << '\n';
        return 2;
    }
}

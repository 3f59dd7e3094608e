// The echo server: every connection is a fiber that reads and writes, as long as its peer says something, and a record while it is
// silent; Ctrl-C or SIGTERM ends it in an orderly way.
#include <array>
#include <csignal>
#include <exception>
#include <iostream>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <weft/fiber.hpp>
#include <weft/io/limits.hpp>
#include <weft/io/signal.hpp>
#include <weft/net/sessions.hpp>
#include <weft/net/tcp.hpp>
#include <weft/runtime.hpp>

namespace {

using namespace std::chrono_literals;

weft::net::endpoint parse_arguments(int argc, char** argv) {
    if (argc == 1) return {.host = "127.0.0.1", .port = 7000};
    if (argc == 3 && std::string_view(argv[1]) == "--listen") return weft::net::endpoint::parse(argv[2]);
    throw std::invalid_argument("usage: echo [--listen HOST:PORT]");
}

void echo(weft::tcp::session& peer) {
    std::array<std::byte, 4096> buffer;
    while (std::size_t n = peer.read_first(buffer))  // 0 at end of stream
        peer.stream().write_all(std::span(buffer).first(n));
}

void serve(const weft::net::endpoint& at) {
    weft::io::signals end({SIGINT, SIGTERM});
    weft::tcp::listener listener(at);
    std::cout << "echo: listening on " << to_string(listener.local()) << std::endl;

    weft::tcp::sessions server(echo);
    const auto stopper = weft::spawn([&] {
        end.wait();
        std::cout << "echo: stopping, " << server.size() << " connections open" << std::endl;
        server.stop();
    });
    server.serve(std::move(listener));
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

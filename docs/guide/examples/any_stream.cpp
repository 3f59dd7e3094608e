// any_stream.cpp - one protocol, compiled once: over TCP, to a child process, and in memory.
#include <weft/net/simulated_network.hpp>
#include <weft/weft.hpp>

#include <iostream>
#include <string>

/// Sends a line, and returns the line that comes back.
std::string ask(weft::io::byte_stream& peer, const std::string& question) {
    peer.write_all(question + "\n");
    weft::io::buffered_reader from(peer);
    return from.read_line().value_or("nothing");
}

/// Answers one line, whatever it comes through.
void shout(weft::io::byte_stream peer) {
    weft::io::buffered_reader from(peer);
    if (const auto line = from.read_line()) peer.write_all(*line + "!\n");
}

int main() {
    weft::run([] {
        // TCP
        weft::io::byte_listener server = weft::tcp::listener({.host = "127.0.0.1", .port = 0});
        auto serving = weft::spawn([&] { shout(server.accept()); });
        weft::io::byte_stream peer = weft::tcp::stream::connect(server.local());
        std::cout << ask(peer, "by TCP") << '\n';
        serving.join();

        // the pipes of a child process
        using enum weft::io::redirect;
        weft::io::process child({"sed", "-u", "s/$/!/"}, {.in = pipe, .out = pipe});
        peer = weft::io::duplex(std::move(child.out()), std::move(child.in()));
        std::cout << ask(peer, "by a pipe") << '\n';
        peer.close();
        child.wait();

        // a network in memory, for tests
        weft::net::simulated_network net({.least_delay = std::chrono::milliseconds(1)});
        server = net.listen({.host = "server", .port = 7});
        serving = weft::spawn([&] { shout(server.accept()); });
        peer = net.connect("client", server.local());
        std::cout << ask(peer, "in memory") << '\n';
        serving.join();
    });
}

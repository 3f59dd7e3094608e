// echo.cpp - a TCP server and its client in one program: a fiber per connection, straight-line code on both sides.
#include <weft/weft.hpp>

#include <array>
#include <iostream>
#include <span>
#include <string_view>

void echo(weft::tcp::stream peer) {
    std::array<std::byte, 4096> buffer;
    while (const std::size_t n = peer.read_some(buffer))  // 0 at the end of the stream
        peer.write_all(std::span(buffer).first(n));
}

int main() {
    weft::run([] {
        weft::tcp::listener listener({.host = "127.0.0.1", .port = 0});  // 0: any free port

        auto server = weft::spawn([&] {
            weft::with_scope({.on_failure = weft::on_failure::report}, [&](weft::scope& connections) {
                for (weft::tcp::stream peer : listener)  // until the listener is closed
                    connections.spawn(echo, std::move(peer));
            });
        });

        auto client = weft::tcp::stream::connect(listener.local());
        client.write_all("hello, ");
        client.write_all("fibers\n");
        client.shutdown(weft::tcp::side::send);
        std::array<std::byte, 64> reply;
        while (const std::size_t n = client.read_some(reply))
            std::cout << std::string_view(reinterpret_cast<const char*>(reply.data()), n);

        listener.close();
        server.join();
    });
}

// websocket.cpp - a server of WebSockets, and a client.
#include <weft/weft.hpp>

#include <weft/http/server.hpp>
#include <weft/ws.hpp>

#include <iostream>
#include <string>

int main() {
    weft::run([] {
        weft::http::server server;
        server.get("/echo", weft::ws::accept(
                                [](const weft::http::request&, weft::ws::connection& c) {
                                    while (auto m = c.receive()) c.send(*m);
                                },
                                {.deflate = true}));
        server.listen({.host = "127.0.0.1", .port = 0});
        auto serving = weft::spawn([&] { server.serve(); });
        const std::string address = "ws://127.0.0.1:" + std::to_string(server.local().port);

        auto c = weft::ws::connect(address + "/echo", {.deflate = true});
        c.send("hello");
        std::cout << c.receive()->data << '\n';

        server.stop(std::chrono::seconds(5));                  // tells every client
        if (!c.receive()) std::cout << "closed by the server: " << c.peer_ending().code << '\n';
        serving.join();

        try {
            weft::ws::connect(address + "/echo");
        } catch (const std::system_error& e) {
            std::cout << (e.code() == std::errc::connection_refused ? "nobody listens" : e.what()) << '\n';
        }
    });
}

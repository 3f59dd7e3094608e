// main.cpp - a chat room for browsers: what one says, all hear. Open http://127.0.0.1:8080/ in two windows.
//
//     chat [PORT]
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <iostream>

#include <weft/http/server.hpp>
#include <weft/io/signal.hpp>
#include <weft/weft.hpp>

#include "page.hpp"
#include "room.hpp"

using namespace std::chrono_literals;

int main(int argc, char** argv) {
    const auto port = static_cast<std::uint16_t>(argc > 1 ? std::atoi(argv[1]) : 8080);
    weft::run([port] {
        room here;
        weft::http::server server;
        server.get("/", [](auto&) {
            return weft::http::response{.headers = {{"Content-Type", "text/html; charset=utf-8"}}, .body = page};
        });
        server.get("/chat/{name}",
                   weft::ws::accept([&](const weft::http::request& q, weft::ws::connection& c) { here.visit(q.path("name"), c); },
                                    {.max_message = 4096, .deflate = true}));
        server.listen({.host = "127.0.0.1", .port = port});
        std::cout << "listening on 127.0.0.1:" << server.local().port << std::endl;

        weft::io::signals ends({SIGINT, SIGTERM});
        const auto ending = weft::spawn([&] {
            ends.wait();
            server.stop(5s);
        });
        server.serve();
    });
}

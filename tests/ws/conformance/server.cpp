// server.cpp - the WebSocket server that suites and clients of others are let loose on.
//
// conformance_ws_server
// Prints `listening on 127.0.0.1:PORT`, echoes at /echo, and at /chat with the subprotocols chat and superchat, until SIGTERM.
#include <csignal>
#include <iostream>

#include <weft/fiber.hpp>
#include <weft/http/server.hpp>
#include <weft/io/signal.hpp>
#include <weft/runtime.hpp>
#include <weft/ws.hpp>

namespace {

using namespace std::chrono_literals;

// required: the largest message of Autobahn's cases 9.* has 16 MiB
constexpr std::size_t most = std::size_t{64} << 20;

void echo(const weft::http::request&, weft::ws::connection& c) {
    while (const auto m = c.receive()) c.send(*m);
}

void serve() {
    weft::http::server app;
    app.get("/echo", weft::ws::accept(echo, {.max_message = most, .deflate = true}));
    app.get("/takeover", weft::ws::accept(echo, {.max_message = most, .deflate = true, .compression = {.takeover = true}}));
    app.get("/chat", weft::ws::accept(echo, {.protocols = {"superchat", "chat"}, .origins = {"http://a.example"}}));
    app.listen({.host = "127.0.0.1", .port = 0});
    weft::io::signals requests({SIGTERM});
    const auto ending = weft::spawn({.name = "signals"}, [&] {
        requests.wait();
        app.stop(2s);
    });
    std::cout << "listening on 127.0.0.1:" << app.local().port << std::endl;
    app.serve();
}

}  // namespace

int main() {
    weft::runtime rt({.workers = 2});
    rt.run(serve);
}

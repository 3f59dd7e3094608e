// server.cpp - the HTTPS server that clients and scanners of others are let loose on.
//
// conformance_server --certificate FILE --key FILE [--ca FILE] [--peer optional|required] [--alpn a,b] [--least 1.2|1.3]
// Prints `listening on 127.0.0.1:PORT`, then a line `refused: REASON` for each handshake that fails, and serves until SIGTERM.
#include <csignal>
#include <cstddef>
#include <exception>
#include <iostream>
#include <string>

#include <weft/fiber.hpp>
#include <weft/http/server.hpp>
#include <weft/io/limits.hpp>
#include <weft/io/signal.hpp>
#include <weft/net/tls.hpp>
#include <weft/runtime.hpp>

#include "options.hpp"

namespace {

using namespace std::chrono_literals;
namespace http = weft::http;

/// The letters of the alphabet, over and over: the length of 26 divides no size of a record, so a piece that is lost or swapped shows.
http::response alphabet(const http::request& asked) {
    std::string text(std::stoul(std::string(asked.path("n"))), '\0');
    for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i % 26);
    return http::text(200, std::move(text));
}

void add_routes(http::server& app) {
    app.get("/hello", [](auto&) { return http::text(200, "hello\n"); });
    app.get("/bytes/{n}", alphabet);
    app.post("/echo", [](const http::request& asked) { return http::text(200, asked.body()); });
    app.get("/session", [](const http::request& asked) {
        return http::text(200, weft::conformance::described(*asked.connection()->target<weft::tls::stream>()) + "\n");
    });
}

void tell(std::exception_ptr why) {
    try {
        std::rethrow_exception(why);
    } catch (const std::exception& e) {
        std::cout << "refused: " + std::string(e.what()) + "\n" << std::flush;
    }
}

void serve(const weft::conformance::options& asked) {
    const weft::tls::context context(asked.context());
    http::server app;
    add_routes(app);
    app.listen({.host = "127.0.0.1", .port = 0},
               {.tls = &context, .on_bad_handshake = [](auto&, std::exception_ptr why) { tell(why); }});
    weft::io::signals requests({SIGTERM});
    const auto ending = weft::spawn({.name = "signals"}, [&] {
        requests.wait();
        app.stop(1s);
    });
    std::cout << "listening on 127.0.0.1:" << app.local().port << std::endl;
    app.serve();
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const weft::conformance::options asked(argc, argv);
        weft::io::raise_descriptor_limit();
        weft::run([&] { serve(asked); }, {.workers = 2});
    } catch (const std::exception& e) {
        std::cerr << "conformance_server: " << e.what() << "\n";
        return 1;
    }
}

// server.cpp - the server that the HTTP attacks are made on: it answers with what it has read, so that a client sees where a request ended.
//
// attack_server [--workers N]; prints `listening on 127.0.0.1:PORT`, and serves until SIGTERM.
#include <array>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <span>
#include <string>
#include <string_view>

#include <weft/fiber.hpp>
#include <weft/http/server.hpp>
#include <weft/io/limits.hpp>
#include <weft/io/signal.hpp>
#include <weft/runtime.hpp>

namespace {

using namespace std::chrono_literals;
namespace http = weft::http;

/// "METHOD target", an empty line, the body.
http::response what_was_read(const http::request& asked) {
    return http::text(200, asked.method() + " " + asked.target() + "\n\n" + asked.body());
}

/// What a careless handler does: bytes of the client become a field of the answer.
http::response redirect(const http::request& asked) {
    http::response answer = http::text(302, "");
    answer.headers.add("Location", asked.query("to"));
    return answer;
}

/// Sends back what it reads while it still reads.
http::response mirror(const http::request&, http::body_reader& in) {
    return http::stream(200, "application/octet-stream", [&in](http::body_writer& out) {
        std::array<std::byte, 1000> piece;
        while (const auto n = in.read_some(piece)) out.write(std::span(piece).first(n));
    });
}

void add_routes(http::server& app) {
    for (const char* pattern : {"/", "/{a}", "/{a}/{b}", "/{a}/{b}/{c}"}) app.any(pattern, what_was_read);
    app.post("/mirror", mirror);
    app.get("/redirect", redirect);
    app.get("/only/get/at/this", what_was_read);
}

void serve() {
    http::server app;
    add_routes(app);
    app.listen({.host = "127.0.0.1", .port = 0}, {.header_timeout = 20s, .body_timeout = 20s, .on_error = [](auto&&...) {}});
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
    unsigned workers = 2;
    if (argc == 3 && argv[1] == std::string_view("--workers")) {
        workers = static_cast<unsigned>(std::atoi(argv[2]));
    } else if (argc != 1) {
        const bool help = argc == 2 && argv[1] == std::string_view("--help");
        (help ? std::cout : std::cerr) << (help ? "" : "attack_server: ") << "usage: attack_server [--workers N]\n";
        return help ? 0 : 2;
    }
    weft::io::raise_descriptor_limit();
    weft::run(serve, {.workers = workers});
}

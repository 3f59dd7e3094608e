// streaming.cpp - bodies that are never in memory as a whole: an upload that is counted, a long table, and events.
#include <weft/weft.hpp>
#include <weft/http/events.hpp>
#include <weft/http/server.hpp>

#include <array>
#include <iostream>
#include <memory>
#include <string>

using namespace std::chrono_literals;
using namespace weft;

/// Counts the lines of a body while it arrives, whatever its length.
http::response count_lines(const http::request&, http::body_reader& in) {
    std::array<std::byte, 65536> piece;
    std::size_t lines = 0;
    while (const auto n = in.read_some(piece))
        for (std::size_t i = 0; i < n; ++i) lines += piece[i] == std::byte('\n');
    return http::text(200, std::to_string(lines) + " lines");
}

/// Refuses what is too large before it is sent.
http::response store(const http::request&, http::body_reader& in) {
    if (in.left() > 1'000'000) return http::text(413, "a megabyte at most");
    return http::text(200, "stored " + std::to_string(in.read_all(1'000'000).size()) + " bytes");
}

/// A table of any length; the client's pace is the pace of the loop.
http::response table(const http::request& q) {
    return http::stream(200, "text/csv", [rows = std::stoi(q.query("rows"))](http::body_writer& out) {
        for (int i = 1; i <= rows; ++i) out.write(std::to_string(i) + "," + std::to_string(i * i) + "\n");
    });
}

/// One page for all clients. It stays in memory, and no answer copies it once it has 16 KiB.
http::response page(const http::request&) {
    static const auto text = std::make_shared<const std::string>("<h1>read by many</h1>");
    return http::shared_body(200, "text/html", text);
}

/// Three events, and the end. A browser connects again then, with the last id it has seen.
http::response ticks(const http::request& q) {
    return http::events(q, [](http::event_writer& to) {
        int next = to.last_id().empty() ? 1 : std::stoi(to.last_id()) + 1;
        for (const int last = next + 2; next <= last && !to.stopping(); ++next)
            to.send({.name = "tick", .data = std::to_string(next), .id = std::to_string(next)});
    });
}

int main() {
    weft::run([] {
        http::server app;
        app.post("/lines", count_lines).put("/store", store).get("/table", table).get("/page", page).get("/ticks", ticks);
        app.listen({.host = "127.0.0.1", .port = 0});
        auto serving = spawn([&] { app.serve(); });

        const auto ask = [&](const std::string& request) {
            auto connection = tcp::stream::connect(app.local());
            connection.write_all(request);
            std::string answer;
            std::array<std::byte, 4096> piece;
            while (const auto n = connection.read_some(piece)) answer.append(reinterpret_cast<const char*>(piece.data()), n);
            std::cout << answer.substr(answer.find("\r\n\r\n") + 4) << "\n";
        };
        ask("POST /lines HTTP/1.0\r\nContent-Length: 9\r\n\r\na\nbc\ndef\n");
        ask("PUT /store HTTP/1.1\r\nHost: a\r\nContent-Length: 2000000\r\nExpect: 100-continue\r\n\r\n");
        ask("GET /table?rows=3 HTTP/1.0\r\n\r\n");
        ask("GET /page HTTP/1.0\r\n\r\n");
        ask("GET /ticks HTTP/1.0\r\nLast-Event-ID: 7\r\n\r\n");

        app.stop(1s);
        serving.join();
    });
}

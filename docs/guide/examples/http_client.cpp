// http_client.cpp - a server, and a client that asks it: pages, a redirect, a stream, and what goes wrong.
#include <weft/weft.hpp>

#include <weft/http/client.hpp>
#include <weft/http/server.hpp>

#include <chrono>
#include <iostream>
#include <string>

using namespace std::chrono_literals;

int main() {
    weft::run([] {
        weft::http::server server;
        server.get("/hello", [](auto&) { return weft::http::text(200, "hello"); });
        server.get("/old", [](auto&) { return weft::http::response{.status = 301, .headers = {{"Location", "/hello"}}}; });
        server.get("/slow", [](auto&) {
            weft::this_fiber::sleep_for(10s);
            return weft::http::text(200, "at last");
        });
        server.post("/count", [](const weft::http::request&, weft::http::body_reader& rows) {
            return weft::http::text(200, std::to_string(rows.read_all(1'000'000).size()) + " bytes");
        });
        server.listen({.host = "127.0.0.1", .port = 0});
        auto serving = weft::spawn([&] { server.serve(); });
        const auto at = "http://" + weft::net::to_string(server.local());
        {
            weft::http::client client({.headers = {{"User-Agent", "guide"}}});

            const auto page = client.get(at + "/old");
            std::cout << page.status << ' ' << page.body << ", after " << page.redirects << " redirect\n";

            weft::with_scope([&](weft::scope& s) {  // many at once, over at most 64 connections
                for (int i = 0; i < 1000; ++i) s.spawn([&] { client.get(at + "/hello"); });
            });

            auto up = client.open({.method = "POST", .url = at + "/count", .body = weft::http::chunked});
            for (int row = 0; row < 1000; ++row) up.write("row " + std::to_string(row) + "\n");
            up.finish();
            std::cout << up.read_all() << '\n';

            try {
                client.get(at + "/slow", {.timeout = 100ms});
            } catch (const weft::http::client_error& e) {
                std::cout << (e.code() == std::errc::timed_out ? "too slow" : e.what()) << '\n';
            }
        }
        server.stop();
        serving.join();
    });
}

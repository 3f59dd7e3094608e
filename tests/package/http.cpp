// http.cpp - an outside user of weft::http: serves one route and stops, with no header of Boost, zlib or zstd in sight.
#include <weft/http/compress.hpp>
#include <weft/http/server.hpp>
#include <weft/weft.hpp>

int main() {
    return weft::run([] {
        weft::http::server app;
        app.use(weft::http::compress());   // a static library hands zlib and zstd on
        app.get("/hello/{name}", [](weft::http::request const& q) -> weft::http::response {
            return weft::http::text(200, q.path("name"));
        });
        app.listen({.host = "127.0.0.1", .port = 0});
        weft::fiber<> serving = weft::spawn([&] { app.serve(); });
        app.stop(std::chrono::seconds(1));
        serving.join();
        return 0;
    });
}

// middleware.cpp - what goes around every request: an access log, a key that is asked for, and a limit of time.
#include <weft/weft.hpp>
#include <weft/http/server.hpp>

#include <iostream>
#include <string>

using namespace std::chrono_literals;
namespace http = weft::http;

http::response log(const http::request& q, const http::next& next) {
    const std::string path(q.path());
    try {
        http::response answer = next(q);
        std::cout << q.method() << ' ' << path << ' ' << answer.status << '\n';
        return answer;
    } catch (const std::exception& failure) {
        std::cout << q.method() << ' ' << path << " failed: " << failure.what() << '\n';
        throw;
    }
}

http::response with_key(const http::request& q, const http::next& next) {
    if (q.header("Api-Key") != "sesame") return http::text(401, "who are you?\n");
    return next(q);
}

http::response in_time(const http::request& q, const http::next& next) {
    try {
        return weft::with_timeout(50ms, [&] { return next(q); });
    } catch (const weft::timeout_error&) { return http::text(503, "took too long\n"); }
}

int main() {
    weft::run([] {
        http::server app;
        app.use(log).use(with_key).use(in_time);
        app.get("/files/{path...}", [](const http::request& q) { return http::text(200, "file " + q.path("path") + "\n"); });
        app.get("/slow", [](const http::request&) {
            weft::this_fiber::sleep_for(1h);
            return http::text(200, "at last\n");
        });
        app.not_found([](const http::request& q) { return http::text(404, "nothing at " + std::string(q.path()) + "\n"); });
        app.listen({.host = "127.0.0.1", .port = 0}, {.max_body_bytes = 64 * 1024, .max_header_fields = 50, .max_query_parameters = 20});
        auto serving = weft::spawn([&] { app.serve(); });

        const auto ask = [&](const std::string& target, const std::string& field) {
            auto client = weft::tcp::stream::connect(app.local());
            client.write_all("GET " + target + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + field + "\r\n");
            while (!client.read_until("\n", 4096).empty()) {}
        };
        const std::string key = "Api-Key: sesame\r\n";
        ask("/files/a/b.txt", key);
        ask("/files/a/b.txt", "");
        ask("/elsewhere", key);
        ask("/slow", key);

        app.stop(1s);
        serving.join();
    });
}

// service.cpp - an HTTP service: each handler reads from top to bottom and blocks only its own fiber.
#include <weft/weft.hpp>
#include <weft/http/server.hpp>

#include <iostream>
#include <map>
#include <mutex>
#include <string>

int main() {
    weft::run([] {
        weft::mutex lock;
        std::map<std::string, std::string> names{{"ann", "Ann Lee"}};

        weft::http::server app;
        app.get("/users/{id}", [&](const weft::http::request& q) -> weft::http::response {
            const std::lock_guard guard(lock);
            const auto found = names.find(q.path("id"));
            if (found == names.end()) return weft::http::text(404, "no such user\n");
            return weft::http::text(200, found->second + "\n");
        });
        app.listen({.host = "127.0.0.1", .port = 0});
        auto serving = weft::spawn([&] { app.serve(); });

        auto client = weft::tcp::stream::connect(app.local());
        client.write_all("GET /users/ann HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        std::cout << client.read_until("\r\n", 1024);

        app.stop(std::chrono::seconds(1));
        serving.join();
    });
}

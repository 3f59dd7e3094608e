// web.cpp - a site: the files of a directory, compressed answers, and an API for pages of another origin.
#include <weft/http/compress.hpp>
#include <weft/http/cors.hpp>
#include <weft/http/server.hpp>
#include <weft/weft.hpp>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

using namespace std::chrono_literals;
namespace http = weft::http;

/// Sends a request and prints the first line of the answer, and those of its fields that begin so.
void ask(const http::server& app, const std::string& request, std::initializer_list<std::string_view> fields) {
    auto client = weft::tcp::stream::connect(app.local());
    client.write_all(request + "Host: localhost\r\nConnection: close\r\n\r\n");
    const auto next_line = [&] {
        auto line = client.read_until("\r\n", 4096);
        return line.substr(0, line.size() - 2);
    };
    std::cout << next_line() << '\n';
    for (auto line = next_line(); !line.empty(); line = next_line())
        for (const auto field : fields)
            if (line.starts_with(field)) std::cout << "    " << line << '\n';
}

int main() {
    const auto folder = std::filesystem::temp_directory_path() / ("weft-web-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder / "docs");
    std::ofstream(folder / "docs/index.html") << std::string(5000, ' ') << "<p>hello</p>";

    weft::run([&] {
        http::server app;
        app.use(http::cors({.origins = {"https://a.example"}, .headers = {"Authorization"}}));
        app.use(http::compress()).use(http::decompress());
        app.files("/", folder.string(), {.cache = 1h});
        app.get("/api/time", [](const http::request&) { return http::json(200, "{\"now\":12}"); });
        app.listen({.host = "127.0.0.1", .port = 0});
        auto serving = weft::spawn([&] { app.serve(); });

        ask(app, "GET /docs HTTP/1.1\r\n", {"Location"});
        ask(app, "GET /docs/ HTTP/1.1\r\nAccept-Encoding: gzip, zstd\r\n",
            {"Content-Type", "Content-Encoding", "Cache-Control", "Vary"});
        ask(app, "GET /docs/index.html HTTP/1.1\r\nRange: bytes=5000-\r\n", {"Content-Length", "Content-Range"});
        ask(app, "GET /../etc/passwd HTTP/1.1\r\n", {});
        ask(app, "OPTIONS /api/time HTTP/1.1\r\nOrigin: https://a.example\r\nAccess-Control-Request-Method: GET\r\n",
            {"Access-Control"});
        ask(app, "GET /api/time HTTP/1.1\r\nOrigin: https://a.example\r\n", {"Content-Type", "Access-Control"});

        app.stop(1s);
        serving.join();
    });
    std::filesystem::remove_all(folder);
}

// bench.cpp - weft_bench_ws serve PORT [cold] | load PORT CONNECTIONS MESSAGES BYTES: an echo server, and what loads all servers.
//
// The load holds one message of each connection under way, and prints how many were echoed.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <weft/http/server.hpp>
#include <weft/weft.hpp>
#include <weft/ws.hpp>

namespace {

void serve(std::uint16_t port, bool cold) {
    weft::http::server server;
    if (cold)
        server.get("/", weft::ws::accept(weft::ws::handlers{.on_message = [](auto& c, weft::ws::message m) { c.send(m); }}));
    else
        server.get("/", weft::ws::accept([](const weft::http::request&, weft::ws::connection& c) {
                       while (const auto m = c.receive()) c.send(*m);
                   }));
    server.listen({.host = "127.0.0.1", .port = port});
    server.serve();
}

void load(const std::string& url, int connections, int messages, std::size_t bytes) {
    const std::string text(bytes, 'x');
    std::atomic<int> left{messages}, echoed{0};
    weft::with_scope([&](weft::scope& all) {
        for (int i = 0; i < connections; ++i)
            all.spawn([&] {
                auto c = weft::ws::connect(url);
                while (left-- > 0) {
                    c.send(text);
                    const auto m = c.receive();
                    if (!m || m->data != text) std::abort();
                    ++echoed;
                }
            });
    });
    std::printf("%d\n", echoed.load());
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view mode = argc > 1 ? argv[1] : "";
    const bool serves = mode == "serve" && (argc == 3 || (argc == 4 && std::string_view(argv[3]) == "cold"));
    if (!serves && !(mode == "load" && argc == 6)) {
        std::fprintf(stderr, "weft_bench_ws: usage: weft_bench_ws serve PORT [cold] | load PORT CONNECTIONS MESSAGES BYTES\n");
        return 2;
    }
    weft::runtime rt({.workers = 1});
    rt.run([&] {
        if (serves)
            serve(static_cast<std::uint16_t>(std::atoi(argv[2])), argc == 4);
        else
            load("ws://127.0.0.1:" + std::string(argv[2]) + "/", std::atoi(argv[3]), std::atoi(argv[4]),
                 static_cast<std::size_t>(std::atoi(argv[5])));
    });
}

// sessions.cpp - a counter for each connection, by sessions that hold no fiber while they are silent.
#include <weft/weft.hpp>

#include <array>
#include <iostream>
#include <span>
#include <string>

using namespace std::chrono_literals;

struct counted {
    int lines = 0;
};

int main() {
    weft::run([] {
        weft::tcp::sessions server(
            [](weft::tcp::session& s) {
                std::array<std::byte, 256> piece;
                while (const std::size_t n = s.read_first(piece)) {
                    for (std::byte b : std::span(piece).first(n))
                        if (b == std::byte('\n')) s.stream().write_all(std::to_string(++s.state<counted>().lines) + "\n");
                }
            },
            {.cold_after = 10ms});
        weft::tcp::listener port({.host = "127.0.0.1", .port = 0});
        const auto at = port.local();
        auto serving = weft::spawn([&, p = std::move(port)]() mutable { server.serve(std::move(p)); });

        auto client = weft::tcp::stream::connect(at);
        for (int i = 0; i < 3; ++i) {
            client.write_all("hello\n");
            std::cout << "line " << client.read_until('\n', 10);
            while (server.asleep() == 0) weft::this_fiber::sleep_for(1ms);
            std::cout << server.size() << " connection, " << server.asleep() << " asleep\n";
        }
        server.stop();
        serving.join();
    });
}

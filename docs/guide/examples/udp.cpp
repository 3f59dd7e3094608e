// udp.cpp - an echo of datagrams, a batch at a time.
#include <weft/weft.hpp>

#include <array>
#include <iostream>
#include <string>
#include <vector>

using namespace std::chrono_literals;

int main() {
    weft::run([] {
        weft::udp::socket server({.host = "127.0.0.1", .port = 0});
        const weft::udp::address at(server.local());
        auto echo = weft::spawn([&] {
            weft::udp::batch room;
            std::vector<weft::udp::datagram> answers;
            for (;;) {
                answers.clear();
                for (const weft::udp::arrival& d : server.receive(room)) answers.push_back({.data = d.data, .to = d.from});
                server.send(answers);
            }
        });

        weft::udp::socket client({.host = "127.0.0.1", .port = 0});
        client.connect(at);
        client.send("hello");
        std::array<std::byte, 64> bytes;
        const auto answer = weft::with_timeout(10s, [&] { return client.receive(bytes); });
        std::cout << std::string(reinterpret_cast<const char*>(answer.data.data()), answer.data.size()) << "\n";

        const std::vector<std::byte> much(3'000);
        client.send_segmented({}, much, 1'200);
        for (int i = 0; i < 3; ++i) std::cout << client.receive(bytes).truncated << " ";
        std::cout << "three datagrams, longer than the buffer\n";
        echo.request_stop();
    });
}

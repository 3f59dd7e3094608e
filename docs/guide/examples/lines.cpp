// lines.cpp - a server that is asked in lines, and a relay in front of it that copies both ways.
#include <weft/weft.hpp>

#include <iostream>
#include <string>

/// Answers each line with its length, until the client ends its side.
void count_letters(weft::tcp::stream peer) {
    weft::io::buffered_reader from(peer);  // one system call per 8 KiB
    for (const std::string& line : from.lines(1024))  // a longer line is an error
        peer.write_all(line + ": " + std::to_string(line.size()) + "\n");
}

int main() {
    weft::run([] {
        weft::tcp::listener server({.host = "127.0.0.1", .port = 0});
        weft::tcp::listener front({.host = "127.0.0.1", .port = 0});

        auto counting = weft::spawn([&] { count_letters(server.accept()); });
        auto relaying = weft::spawn([&] {
            auto outside = front.accept();
            auto inside = weft::tcp::stream::connect(server.local());
            return weft::io::relay(outside, inside, {.idle_timeout = std::chrono::seconds(30)});
        });

        auto client = weft::tcp::stream::connect(front.local());
        client.write_all("warp\r\nweft\nselvedge");
        client.shutdown_send();  // handed on by the relay: the server sees the end, and its answers still come back
        weft::io::buffered_reader answers(client);
        while (const auto line = answers.read_line()) std::cout << *line << '\n';

        const auto passed = relaying.join();
        std::cout << passed.forth << " bytes forth, " << passed.back << " back\n";
        counting.join();
    });
}

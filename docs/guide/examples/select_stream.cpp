// select_stream.cpp - one fiber serves a connection and a channel: whichever has something first.
#include <weft/weft.hpp>

#include <array>
#include <iostream>
#include <optional>
#include <string>

int main() {
    weft::run([] {
        weft::tcp::listener listener({.host = "127.0.0.1", .port = 0});
        const weft::channel<std::string> news, heard;
        weft::with_scope([&](weft::scope& s) {
            s.spawn([&] {
                weft::tcp::stream user = listener.accept();
                std::array<std::byte, 256> bytes;
                for (bool open = true; open;)
                    weft::select(
                        weft::on_readable(user, [&] {
                            const std::size_t n = user.read_some(bytes);  // does not wait
                            open = n != 0;                                // 0: the user has gone
                            if (open) heard.send(std::string(reinterpret_cast<const char*>(bytes.data()), n));
                        }),
                        weft::on_receive(news, [&](std::optional<std::string> n) { user.write_all(n.value_or("")); }));
            });

            weft::tcp::stream here = weft::tcp::stream::connect(listener.local());
            news.send("rain\n");
            std::cout << "the user reads: " << here.read_until('\n', 100);
            here.write_all("thank you");
            std::cout << "the server reads: " << heard.receive().value_or("") << '\n';
        });
    });
}

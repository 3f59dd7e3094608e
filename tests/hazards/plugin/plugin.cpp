// plugin.cpp - a library that uses weft and is opened and closed by a program that does not know of it.
#include <weft/weft.hpp>

#include <array>
#include <atomic>
#include <string_view>

/// Starts a runtime, does a little of everything, and ends it. \returns 5050 if all went well.
extern "C" __attribute__((visibility("default"))) int weft_plugin_work() {
    using namespace std::chrono_literals;
    std::atomic<int> sum{0};
    weft::run(
        [&] {
            weft::channel<int> numbers(4);
            weft::with_scope([&](weft::scope& s) {
                s.spawn([&] {
                    for (int i = 1; i <= 100; ++i) numbers.send(i);
                    numbers.close();
                });
                for (const int n : numbers) sum += n;
            });
            weft::this_fiber::sleep_for(1ms);
            weft::blocking([] {});
            weft::tcp::listener listener({.host = "127.0.0.1", .port = 0});
            auto client = weft::spawn([&] { weft::tcp::stream::connect(listener.local()).write_all(std::string_view("hello")); });
            std::array<std::byte, 5> text;
            listener.accept().read_exact(text);
            client.join();
        },
        {.workers = 2});
    return sum;
}

// plugin.cpp - a library that uses weft and is opened and closed by a program that does not know of it.
#include <weft/weft.hpp>

#include <array>
#include <atomic>
#include <string_view>
#include <thread>
#include <vector>

namespace {

// As libraries have them: static objects of weft's, which end when the library is closed.
weft::fiber_local<std::vector<int>>& of_each_fiber() {
    static weft::fiber_local<std::vector<int>> values;
    return values;
}

/// What is kept in places of the process's own, not of a runtime's. \returns 30.
int use_what_outlives_runtimes() {
    of_each_fiber().get().assign(100, 1);
    static weft::coroutine<int()> tens([](auto& yield) {
        for (;;) yield(10);
    });
    int sum = tens();
    weft::generator<int> once([](auto& yield) { yield(20); });
    for (const int n : once) sum += n;
    return sum;
}

}  // namespace

/// Starts a runtime, does a little of everything, and ends it. \returns 5050 if all went well.
extern "C" __attribute__((visibility("default"))) int weft_plugin_work() {
    using namespace std::chrono_literals;
    const weft::cell<int> nothing(0);
    std::atomic<int> sum{nothing.get()};  // a thread that only reads keeps nothing
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
            weft::cell<int> base(70);
            const weft::cell<int> same([&] { return base.get(); });
            sum += same.get() + use_what_outlives_runtimes() - 100;
        },
        {.workers = 2});
    // Not here: the loader keeps a library while a thread has locals of it.
    std::thread([&] { sum += use_what_outlives_runtimes() - 30; }).join();
    return sum;
}

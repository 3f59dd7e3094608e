// tokens.cpp - std::stop_token in and out: a token from outside stops a scope, and a fiber's own stops code that knows only tokens.
#include <weft/weft.hpp>

#include <chrono>
#include <condition_variable>
#include <iostream>
#include <mutex>
#include <stop_token>

using namespace std::chrono_literals;

void listens_to_a_device(std::stop_token stop) {  // knows nothing of fibers
    std::mutex lock;
    std::condition_variable_any arrived;
    std::unique_lock guard(lock);
    arrived.wait(guard, stop, [] { return false; });
    std::cout << "the device is closed\n";
}

int main() {
    weft::run([] {
        std::stop_source button;
        weft::with_scope([&](weft::scope& s) {
            const std::stop_callback pressed(button.get_token(), [&] { s.request_stop(); });  // in
            s.spawn([] { weft::blocking(listens_to_a_device); });                             // out, as its argument
            s.spawn([](std::stop_token mine) {                                                // out, as by std::jthread
                const weft::shield until_the_end;
                while (!mine.stop_requested()) weft::this_fiber::sleep_for(1ms);
            });
            weft::this_fiber::sleep_for(5ms);
            button.request_stop();
        });
        std::cout << "all have ended\n";
    });
}

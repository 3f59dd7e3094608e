// broadcast.cpp - one value to many, time as a channel, and the end of a fiber as a case of a select.
#include <weft/weft.hpp>

#include <chrono>
#include <iostream>
#include <string>

using namespace std::chrono_literals;

int main() {
    weft::run([] {
        const weft::broadcast<std::string> news;
        const auto all = news.subscribe();  // its channel holds 16 values; a sender waits if it is full
        const auto last = news.subscribe({.capacity = 1, .overflow = weft::overflow::drop_oldest});
        for (const char* const what : {"rain", "wind", "sun"}) news.send(what);
        news.close();
        for (const auto& n : all) std::cout << "all: " << n << '\n';
        for (const auto& n : last) std::cout << "last: " << n << '\n';

        auto job = weft::spawn([] {
            weft::this_fiber::sleep_for(20ms);
            return 42;
        });
        const auto ticks = weft::every(2ms);  // stops with its last handle
        int seen = 0;
        while (weft::select(weft::on_join(job), weft::on_receive(ticks, [&](auto) { ++seen; })) != 0) {}
        std::cout << "job " << job.join() << (seen > 0 ? ", ticks meanwhile\n" : "\n");
    });
}

// race.cpp - Trio's nursery that is cancelled by its own body: the first child to finish wins, the others are stopped.
#include <weft/weft.hpp>

#include <chrono>
#include <iostream>
#include <string>

using namespace std::chrono_literals;

std::string ask(std::string mirror, std::chrono::nanoseconds takes) {
    try {
        weft::this_fiber::sleep_for(takes);
    } catch (const weft::cancelled&) {
        std::cout << mirror + " is stopped\n";
        throw;
    }
    return mirror;
}

int main() {
    weft::run([] {
        const weft::channel<std::string> first;
        weft::with_scope([&](weft::scope& s) {
            s.spawn([&] { first.send(ask("near", 1ms)); });
            s.spawn([&] { first.send(ask("far", 1h)); });
            std::cout << *first.receive() + " answers\n";
            s.request_stop();
        });  // waits for both
        std::cout << "done\n";
    });
}

// deadline.cpp - bounds a piece of code, however deep its waits lie, and cleans up under a shield.
#include <weft/weft.hpp>

#include <chrono>
#include <iostream>

using namespace std::chrono_literals;

void slow_query() {
    struct closer {
        ~closer() { std::cout << "connection closed\n"; }  // runs as the stack unwinds
    } const connection;
    weft::this_fiber::sleep_for(1h);
}

int main() {
    weft::run([] {
        try {
            weft::with_timeout(5ms, slow_query);
        } catch (const weft::timeout_error&) {
            std::cout << "too slow\n";
        }

        auto worker = weft::spawn([] {
            try {
                weft::this_fiber::sleep_for(1h);
            } catch (const weft::cancelled&) {
                const weft::shield while_saving(1s);   // stop does not interrupt this part
                weft::this_fiber::sleep_for(1ms);
                std::cout << "saved\n";
                throw;
            }
        });
        weft::this_fiber::sleep_for(1ms);
    });  // the handle goes first: it asks its fiber to stop, and joins it
}

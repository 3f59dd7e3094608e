// scope.cpp - children end before the block that started them does; the first failure stops the rest.
#include <weft/weft.hpp>

#include <chrono>
#include <iostream>
#include <stdexcept>
#include <utility>

using namespace std::chrono_literals;

int fetch_price() {
    weft::this_fiber::sleep_for(2ms);
    return 42;
}

int fetch_stock() {
    weft::this_fiber::sleep_for(1ms);
    return 7;
}

int main() {
    weft::run([] {
        const auto [price, stock] = weft::with_scope([](weft::scope& s) {
            auto p = s.spawn(fetch_price);
            auto n = s.spawn(fetch_stock);
            return std::pair(p.join(), n.join());
        });
        std::cout << stock << " at " << price << '\n';

        try {
            weft::with_scope([](weft::scope& s) {
                s.spawn([] { weft::this_fiber::sleep_for(1h); });  // stopped by its sibling's failure
                s.spawn([] { throw std::runtime_error("no such shop"); });
            });
        } catch (const std::exception& e) {
            std::cout << "failed: " << e.what() << '\n';
        }
    });
}

// select.cpp - waits for whichever comes first.
#include <weft/weft.hpp>

#include <chrono>
#include <iostream>
#include <optional>
#include <string>

using namespace std::chrono_literals;

int main() {
    weft::run([] {
        weft::channel<std::string> orders;
        weft::channel<int> prices;
        auto shop = weft::spawn([=] {
            orders.send("tea");
            prices.send(3);
            orders.close();
        });

        bool open = true;
        while (open) {
            weft::select(
                weft::on_receive(orders, [&](std::optional<std::string> o) {
                    if (o) std::cout << "order: " << *o << '\n';
                    else open = false;  // closed and drained
                }),
                weft::on_receive(prices, [](std::optional<int> p) { std::cout << "price: " << p.value_or(0) << '\n'; }),
                weft::on_timeout(10s, [&] { open = false; }));
        }
        shop.join();

        weft::channel<int> empty;
        weft::select(weft::on_receive(empty, [](std::optional<int>) {}), weft::otherwise([] { std::cout << "nothing yet\n"; }));
    });
}

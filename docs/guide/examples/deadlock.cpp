// deadlock.cpp - everybody waits, and nobody is left who could come.
#include <weft/weft.hpp>

#include <iostream>

int main() {
    weft::channel<int> orders;
    const auto way_out = [&](const weft::deadlock& d) {
        std::cout << (d.certain ? "for sure" : "perhaps") << ", as " << d.fibers.size() << " fibers wait\n";
        for (const auto& fiber : d.fibers)
            if (fiber.name == "cook") std::cout << "the cook for " << fiber.waits_for << '\n';
        orders.close();
    };
    weft::runtime kitchen({.workers = 2, .on_deadlock = way_out});
    kitchen.run([&] {
        auto cook = weft::spawn({.name = "cook"}, [&] {
            int cooked = 0;
            while (orders.receive()) ++cooked;
            return cooked;
        });
        const int cooked = cook.join();
        std::cout << "cooked: " << cooked << '\n';
    });
}

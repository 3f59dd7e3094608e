// main.cpp - a sheet whose formulas are functions: a change of one cell reaches all that depend on it, and nobody says which.
//
// Prints the total after each change; ends with 0 if the last one is right.
#include <weft/weft.hpp>

#include <array>
#include <iostream>

int main() {
    return weft::run([] {
        constexpr int lines = 3;
        std::array<weft::cell<int>, lines> pieces{weft::cell(1), weft::cell(2), weft::cell(3)};
        std::array<weft::cell<int>, lines> cents{weft::cell(250), weft::cell(120), weft::cell(80)};
        weft::cell<int> discount_percent(0);

        weft::cell sum([&] {
            int all = 0;
            for (std::size_t i = 0; i < lines; ++i) all += pieces[i].get() * cents[i].get();
            return all;
        });
        weft::cell discount([&] { return sum.get() * discount_percent.get() / 100; });
        weft::cell total([&] { return sum.get() - discount.get(); });

        std::cout << total.get() << '\n';
        pieces[0].set(4);
        std::cout << total.get() << '\n';
        discount_percent.set(10);
        std::cout << total.get() << '\n';
        cents[2].set(100);
        std::cout << total.get() << '\n';
        return total.get() == 1386 ? 0 : 1;
    });
}

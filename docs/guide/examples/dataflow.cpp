// dataflow.cpp - variables that are written once, and variables that follow others.
#include <weft/weft.hpp>

#include <iostream>
#include <stdexcept>

int main() {
    weft::run([] {
        weft::ivar<int> width, height;
        weft::ivar area([&] { return width.get() * height.get(); });  // in a fiber of its own; reading waits
        height.set(6);
        width.set(7);
        std::cout << "area " << area.get() << '\n';

        weft::ivar<int> a;
        auto x = weft::cell<int>::with_history(8);  // written again and again; the last 8 are kept for who lags behind
        weft::cell y([&] { return a.get() * x.get(); });
        weft::cell z([&] { return a.get() + x.get(); });
        weft::cell r([&] { return y.get() + z.get(); });
        const auto sums = r.changes();
        for (int i = 0; i < 5; ++i) x.set(i);
        a.set(3);
        for (int i = 0; i < 5; ++i) std::cout << "sum " << sums.receive().value() << '\n';

        weft::cell<int> divisor(0);
        weft::cell quotient([&] {
            if (divisor.get() == 0) throw std::domain_error("divided by zero");
            return 100 / divisor.get();
        });
        weft::cell rounded([&] { return quotient.get() / 10 * 10; });
        try {
            rounded.get();
        } catch (const std::domain_error& e) {
            std::cout << e.what() << '\n';
        }
        divisor.set(3);
        std::cout << "rounded " << rounded.get() << '\n';
    });
}

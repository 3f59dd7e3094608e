// two_way.cpp - values go in by call and come out by yield; an exception leaves through the call.
#include <weft/coroutine.hpp>

#include <iostream>
#include <stdexcept>

int main() {
    weft::coroutine<double(double)> mean([](auto& yield, double x) {
        double sum = 0;
        for (int n = 1;; ++n) {
            if (x < 0) throw std::invalid_argument("negative");
            sum += x;
            x = yield(sum / n);  // returns from this call; goes on with the next one's argument
        }
    });
    std::cout << mean(2) << ' ' << mean(4) << ' ' << mean(9) << '\n';
    try {
        mean(-1);
    } catch (const std::invalid_argument& e) {
        std::cout << e.what() << '\n';
    }
    std::cout << std::boolalpha << (mean.state() == weft::coroutine_state::done) << '\n';
}

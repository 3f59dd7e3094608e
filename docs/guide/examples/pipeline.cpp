// pipeline.cpp - three stages joined by channels; each ends when the one before it closes its channel.
#include <weft/weft.hpp>

#include <iostream>

int main() {
    weft::run([] {
        weft::channel<int> numbers;      // rendezvous: a send waits for its receiver
        weft::channel<int> squares(16);  // up to 16 values wait in between

        auto count = weft::spawn([=] {
            for (int i = 1; i <= 100; ++i) numbers.send(i);
            numbers.close();
        });
        auto square = weft::spawn([=] {
            for (int n : numbers) squares.send(n * n);  // until closed and drained
            squares.close();
        });

        long sum = 0;
        for (int s : squares) sum += s;
        std::cout << sum << '\n';
        count.join();
        square.join();
    });
}

// coroutine.cpp - a coroutine is a function that can pause; it needs no runtime.
#include <weft/coroutine.hpp>

#include <iostream>

int main() {
    int amount = 0;  // shared with no lock: control changes hands only at call() and yield()
    weft::coroutine<> breathe([&] {
        for (;;) {
            std::cout << "breathe " << amount << '\n';
            amount = 0;
            weft::coroutine<>::yield();
        }
    });
    for (int second = 1; second <= 3; ++second) {
        amount += second;
        breathe.call();
    }
}  // the suspended stack is unwound here

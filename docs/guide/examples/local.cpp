// local.cpp - what thread_local is for threads, for fibers.
#include <weft/weft.hpp>

#include <iostream>
#include <string>

weft::fiber_local<std::string> user([] { return std::string("nobody"); });

void greet() { std::cout << "hello, " << *user << '\n'; }  // knows its caller's user, and needs no parameter for it

int main() {
    weft::run([] {
        weft::spawn([] {
            *user = "ann";
            weft::this_fiber::yield();  // perhaps on another thread now
            greet();
        }).join();
        greet();
    });
}

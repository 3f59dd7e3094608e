// blocking.cpp - code that blocks its thread, and code that calls back, each as one straight-line call.
#include <weft/weft.hpp>

#include <functional>
#include <iostream>
#include <string>
#include <thread>

// A library of the old kind: the answer comes later, on some other thread.
void look_up(std::string key, std::function<void(std::string)> done) {
    std::thread([=] { done("value of " + key); }).detach();
}

int main() {
    weft::run([] {
        const auto report = weft::blocking([] {  // on a thread of the side pool; other fibers go on
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
            return std::string("read from disk");
        });
        std::cout << report << '\n';

        const auto value = weft::await_callback<std::string>([](auto resume) { look_up("answer", resume); });
        std::cout << value << '\n';
    });
}

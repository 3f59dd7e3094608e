// futures.cpp - what async, promise and shared_future are elsewhere: a fiber that is joined, and an ivar.
#include <weft/weft.hpp>

#include <iostream>
#include <stdexcept>
#include <string>

int main() {
    weft::run([] {
        weft::ivar<std::string> name;  // promise and shared_future in one
        weft::with_scope([&](weft::scope& s) {
            auto length = s.spawn([&] { return name.get().size(); });  // async
            auto greeting = s.spawn([&] { return "hello, " + name.get(); });
            name.set("fibers");
            std::cout << greeting.join() << ", all " << length.join() << " letters of you\n";
        });

        auto broken = weft::spawn([]() -> int { throw std::runtime_error("no answer"); });
        try {
            broken.join();
        } catch (const std::exception& e) {
            std::cout << e.what() << '\n';
        }
    });
}

// supervisors.cpp - a child that fails is made anew behind the same reference, until it fails too often.
#include <weft/weft.hpp>

#include <chrono>
#include <iostream>
#include <stdexcept>

using namespace std::chrono_literals;

class sensor {
public:
    struct reading {
        using reply = int;
    };
    struct surge {};

    void started() { std::cout << "sensor starts\n"; }
    void stopping() { std::cout << "sensor stops\n"; }
    int handle(reading) { return ++readings_; }
    void handle(surge) { throw std::runtime_error("burnt out"); }

private:
    int readings_ = 0;
};

int main() {
    weft::run([] {
        weft::supervisor lab({.strategy = weft::restart::one_for_one, .max_restarts = 1, .within = 60s, .name = "lab"});
        const auto s = lab.start<sensor>({.name = "sensor", .keep = weft::child_kind::permanent});
        const auto end = lab.monitor();

        s.ask(sensor::reading{});
        s.send(sensor::surge{});
        const int n = s.ask(sensor::reading{});  // is kept until there is a next life
        std::cout << "reading " << n << " of the next life\n";

        s.send(sensor::surge{});
        const auto why = end.receive();
        std::cout << "lab " << why->what() << '\n';
        std::cout << (lab.failed() && s.ended() ? "all ended\n" : "?\n");
    });
}

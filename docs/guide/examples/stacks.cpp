// stacks.cpp - how large should stacks be? Ask the program, then give back what nobody uses.
#include <weft/weft.hpp>

#include <chrono>
#include <iostream>
#include <vector>

// A parser that goes deep, once.
int parse(int depth) {
    volatile char frame[1000];
    frame[0] = 1;
    return depth == 0 ? frame[0] : parse(depth - 1) + frame[0];
}

int main() {
    weft::runtime rt({.workers = 2, .stack_census = true});
    rt.run([] {
        std::vector<weft::fiber<int>> parsers;
        for (int i = 1; i <= 4; ++i) parsers.push_back(weft::spawn({.name = "parser"}, [i] { return parse(40 * i); }));
        for (auto& p : parsers) p.join();
    });
    for (const auto& use : rt.stack_census())
        if (use.fibers == 4)
            std::cout << "4 parsers, the deepest used "
                      << (use.most_bytes > 160'000 && use.most_bytes < 220'000 ? "about 170" : "some other number of") << " KB\n";

    rt.run([] {
        weft::channel<int> requests;
        auto idle = weft::spawn([&] {
            parse(100);
            while (requests.receive()) parse(1);  // from here on it needs little
        });
        weft::this_fiber::sleep_for(std::chrono::milliseconds(5));
        const auto bytes = weft::runtime::current()->trim_stacks();
        std::cout << (bytes > 80'000 ? "its deep call was given back\n" : "nothing was given back\n");
        requests.close();
        idle.join();
    });
}

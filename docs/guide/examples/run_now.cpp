// run_now.cpp - a child begins when it is spawned, or when its spawner gives way.
#include <weft/weft.hpp>

#include <chrono>
#include <iostream>

int main() {
    using namespace std::chrono_literals;
    const weft::runtime_options one_at_a_time{.workers = 1, .time_slice = 0ns};
    const int answers = weft::run(
        [] {
            int n = 0;
            weft::with_scope([&n](weft::scope& s) {
                for (int i = 1; i <= 3; ++i) {
                    s.spawn({.run_now = i != 2}, [&n, i] {
                        std::cout << "ask " << i << '\n';
                        weft::this_fiber::sleep_for(1ms);  // the answer takes a while
                        ++n;
                    });
                    std::cout << "spawned " << i << '\n';
                }
            });
            return n;
        },
        one_at_a_time);
    std::cout << answers << " answers\n";
}

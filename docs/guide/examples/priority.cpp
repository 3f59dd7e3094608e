// priority.cpp - a heartbeat, a service and a batch job on one worker: the dispatches are shared 64 to 8 to 1.
#include <weft/weft.hpp>

#include <iostream>
#include <map>
#include <vector>

int main() {
    using weft::priority;
    weft::run(
        [] {
            std::map<priority, int> turns;
            bool over = false;
            auto work = [&] {
                while (!over) {
                    if (++turns[weft::this_fiber::priority()] == 1000 && weft::this_fiber::priority() == priority::low) over = true;
                    weft::this_fiber::yield();
                }
            };
            auto heartbeat = weft::spawn({.name = "heartbeat", .priority = priority::high}, work);
            auto service = weft::spawn({.name = "service"}, work);
            auto batch = weft::spawn({.name = "batch", .priority = priority::low}, [&] {
                auto part = weft::spawn(work);  // as low as its parent
                part.join();
            });
            batch.join();
            heartbeat.join();
            service.join();

            const auto share = [&](priority p) { return (turns[p] + 500) / 1000; };
            std::cout << share(priority::high) << " : " << share(priority::normal) << " : " << share(priority::low) << '\n';
        },
        {.workers = 1, .time_slice = std::chrono::nanoseconds(0)});
}

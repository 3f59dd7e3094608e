// meeting.cpp - parties that limit, await and pass one another: semaphore, latch, barrier, event, once, shared_mutex.
#include <weft/weft.hpp>

#include <algorithm>
#include <atomic>
#include <iostream>
#include <map>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

void at_most_three() {
    weft::counting_semaphore<> seats(3);
    std::atomic<int> inside{0}, most{0};
    weft::with_scope([&](weft::scope& s) {
        for (int i = 0; i < 20; ++i)
            s.spawn([&] {
                seats.acquire();
                const int now = ++inside;
                for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {}
                weft::this_fiber::yield();
                --inside;
                seats.release();
            });
    });
    std::cout << "never more than three inside: " << std::boolalpha << (most <= 3) << '\n';
}

void generations() {
    std::vector<int> cells{1, 2, 3, 4}, next(cells.size());
    int generation = 0;
    weft::barrier step(4, [&]() noexcept {  // by the last to arrive, while the others wait
        cells.swap(next);
        ++generation;
    });
    weft::with_scope([&](weft::scope& s) {
        for (std::size_t i = 0; i < cells.size(); ++i)
            s.spawn([&, i] {
                for (int n = 0; n < 3; ++n) {
                    next[i] = cells[i] + cells[(i + 1) % cells.size()];
                    step.arrive_and_wait();
                }
            });
    });
    std::cout << "after " << generation << " generations:";
    for (const int c : cells) std::cout << ' ' << c;
    std::cout << '\n';
}

int main() {
    weft::latch written(1);
    weft::event printed;
    std::string line;
    std::jthread device([&] {  // no fiber
        line = "written by a thread";
        written.count_down();
        printed.wait();
    });

    weft::run([&] {
        written.wait();
        std::cout << line << '\n';
        printed.set();

        at_most_three();
        generations();

        weft::shared_mutex lock;
        std::map<std::string, int> prices{{"tea", 3}};
        weft::once_flag opened;
        weft::with_scope([&](weft::scope& s) {
            for (int i = 0; i < 5; ++i)
                s.spawn([&] {
                    weft::call_once(opened, [] { std::cout << "open\n"; });
                    const std::shared_lock reading(lock);  // with the other readers
                    return prices.at("tea");
                });
            s.spawn([&] {
                const std::scoped_lock writing(lock);  // alone
                prices["milk"] = 1;
            });
        });
        std::cout << prices.size() << " prices\n";
    });
}

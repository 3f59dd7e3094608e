// locks.cpp - the standard's locks for fibers; a plain thread may hold the other end.
#include <weft/weft.hpp>

#include <deque>
#include <iostream>
#include <mutex>
#include <thread>

int main() {
    weft::mutex lock;
    weft::condition_variable grew;
    std::deque<int> queue;

    std::jthread device([&] {  // not a fiber
        for (int i = 1; i <= 10; ++i) {
            const std::lock_guard guard(lock);
            queue.push_back(i);
            grew.notify_one();
        }
    });

    weft::run([&] {
        int sum = 0;
        for (int taken = 0; taken < 10; ++taken) {
            std::unique_lock guard(lock);
            grew.wait(guard, [&] { return !queue.empty(); });
            sum += queue.front();
            queue.pop_front();
        }
        std::cout << sum << '\n';

        weft::wait_group all;
        for (int i = 0; i < 100; ++i) {
            all.add(1);
            weft::spawn_detached([&] { all.done(); });
        }
        all.wait();
    });
}

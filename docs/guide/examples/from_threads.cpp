// from_threads.cpp - four shops are asked at once, and their answers are kept: with threads this was a pool, a queue, futures and a cache.
#include <weft/weft.hpp>

#include <chrono>
#include <iostream>
#include <map>
#include <mutex>
#include <string>
#include <vector>

using namespace std::chrono_literals;

// Before: a thread_local map per thread of the pool, since a std::mutex was held during the call.
std::map<std::string, int> cache;
weft::mutex cache_lock;  // was std::mutex

int ask(const std::string& shop) {
    {
        const std::lock_guard guard(cache_lock);
        if (const auto known = cache.find(shop); known != cache.end()) return known->second;
    }
    weft::this_fiber::sleep_for(1ms);  // was std::this_thread::sleep_for; stands for the call of a service
    const int price = static_cast<int>(shop.size());
    const std::lock_guard guard(cache_lock);
    cache[shop] = price;
    return price;
}

int main() {
    weft::run([] {
        int sum = 0;
        std::vector<weft::fiber<int>> prices;  // was std::vector<std::future<int>>
        for (const auto* shop : {"north", "east", "south", "west"})
            prices.push_back(weft::spawn(ask, std::string(shop)));  // was pool.submit(...)
        for (auto& p : prices) sum += p.join();                     // was p.get()
        std::cout << sum << " in " << cache.size() << " shops\n";
    });
}

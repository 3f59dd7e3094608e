// limit.cpp - however fast work comes in, only so many fibers live at once.
#include <weft/weft.hpp>

#include <atomic>
#include <chrono>
#include <iostream>

std::atomic<int> now = 0, most = 0;

void handle_request() {
    const int others = now.fetch_add(1);
    for (int seen = most; others + 1 > seen && !most.compare_exchange_weak(seen, others + 1);) {}
    weft::this_fiber::yield();  // waits for something
    --now;
}

int main() {
    weft::runtime rt({.max_fibers = 10, .at_limit = weft::at_limit::park});
    for (int i = 0; i < 1000; ++i) rt.spawn_detached(handle_request);  // this thread sleeps whenever ten are at work
    rt.shutdown(std::chrono::seconds(10));
    std::cout << (most <= 10 ? "never more than 10 at once\n" : "too many\n");
}

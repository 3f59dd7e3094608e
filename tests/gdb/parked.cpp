// parked.cpp - a program to be looked at by check_gdb.py: fibers that wait in known places, and then an abort.
#include <weft/weft.hpp>

#include <cstdlib>

namespace {

weft::channel<int> silent(0);
weft::mutex left_lock, right_lock;
weft::latch never_opened(1);

struct slip {
    int number;
};

[[gnu::noinline]] int await_order(int table) {
    volatile int dishes = table * 10 + 3;
    slip kept{table};
    asm volatile("" : : "r"(&kept) : "memory");  // so that it is there
    const auto order = silent.receive();
    return order ? *order + dishes : 0;
}

[[gnu::noinline]] void take_both(weft::mutex& first, weft::mutex& second, weft::latch& both) {
    const std::lock_guard one(first);
    both.arrive_and_wait();
    const std::lock_guard two(second);
}

[[gnu::noinline]] void wait_for_ever() {
    never_opened.wait();
    asm volatile("");  // so that this is no jump to wait(), which would leave no frame
}

[[gnu::noinline]] void call_coroutine() {
    weft::coroutine<void(int)> inner([](auto&, int) { wait_for_ever(); });
    inner(1);
    asm volatile("");
}

[[gnu::noinline]] void wait_as_thread(void* thread_pointer) {
    wait_for_ever();
    asm volatile("" : : "r"(thread_pointer));
}

[[gnu::noinline]] void end_here() { std::abort(); }  // does not return, so it is called

bool all_wait(const weft::runtime& rt, int expected) {
    int waiting = 0;
    rt.for_each_fiber([&](const weft::fiber_info& f) { waiting += f.state == "waiting"; });
    return waiting == expected;
}

}  // namespace

int main() {
    weft::runtime rt({.workers = 2, .name = "kitchen"});
    weft::latch both(2);
    auto waiter = rt.spawn({.name = "waiter"}, [] { return await_order(4); });
    auto left = rt.spawn({.name = "left"}, [&] { take_both(left_lock, right_lock, both); });
    auto right = rt.spawn({.name = "right"}, [&] { take_both(right_lock, left_lock, both); });
    auto guest = rt.spawn({.name = "guest\nfiber 1: \x1b[31m"}, [&] { waiter.join(); });
    weft::fiber<> crowd[3];
    for (auto& one : crowd) one = rt.spawn({.name = "crowd"}, wait_for_ever);
    auto generating = rt.spawn({.name = "inside a coroutine"}, [] { call_coroutine(); });
    auto thread = rt.spawn({.name = "a thread", .as_thread = true}, [] { wait_as_thread(__builtin_thread_pointer()); });
    while (!all_wait(rt, 9)) weft::this_fiber::sleep_for(std::chrono::milliseconds(1));
    rt.run([] { end_here(); });
}

// resumable.cpp - a scheduler in a few lines: it drives whatever has resume() and done().
#include <weft/coroutine.hpp>
#include <weft/resumable.hpp>

#include <coroutine>
#include <deque>
#include <exception>
#include <iostream>

struct task {  // a coroutine of the language, reduced to what is needed here
    struct promise_type {
        task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() noexcept { std::terminate(); }
    };
    std::coroutine_handle<> handle;
};

task letters() {
    std::cout << "a\n";
    co_await std::suspend_always();
    std::cout << "b\n";
}

struct countdown {  // no coroutine of any kind
    int left;
    void resume() { std::cout << left-- << '\n'; }
    bool done() const { return left == 0; }
};

void round_robin(std::deque<weft::resumable_ref> queue) {
    for (; !queue.empty(); queue.pop_front()) {
        if (queue.front().done()) continue;
        queue.front().resume();
        queue.push_back(queue.front());
    }
}

int main() {
    weft::coroutine<> greets([] {
        std::cout << "hello\n";
        weft::coroutine<>::yield();
        std::cout << "again\n";
    });
    const task spells = letters();
    countdown counts{3};
    round_robin({greets, spells.handle, counts});
    spells.handle.destroy();
}

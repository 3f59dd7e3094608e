// main.cpp - a scheduler of one's own that drives whatever has resume() and done(): a class that is a coroutine, a coroutine of
// the language, a range, an object that is none of these. It does so on a plain thread, and then they are fibers.
#include <coroutine>
#include <cstdio>
#include <deque>
#include <exception>
#include <initializer_list>
#include <string>
#include <utility>

#include <weft/coroutine.hpp>
#include <weft/fiber.hpp>
#include <weft/generator.hpp>
#include <weft/resumable.hpp>
#include <weft/runtime.hpp>
#include <weft/scope.hpp>

namespace {

// The scheduler. It knows none of the types below.
int round_robin(std::initializer_list<weft::resumable_ref> all) {
    std::deque<weft::resumable_ref> queue(all);
    int turns = 0;
    for (; !queue.empty(); queue.pop_front()) {
        if (queue.front().done()) continue;
        queue.front().resume();
        ++turns;
        queue.push_back(queue.front());
    }
    return turns;
}

// weft's: each has a stack, and pauses at any depth of calls.
class climber : public weft::coroutine<> {
public:
    explicit climber(int steps) : coroutine(&climber::climb), steps_(steps) {}
    ~climber() override { unwind(); }

private:
    void climb() { climb_from(1); }
    void climb_from(int step) {
        std::printf("climber at step %d\n", step);
        yield();
        if (step < steps_) climb_from(step + 1);
    }
    const int steps_;
};

// The language's: a frame on the heap, which pauses in its own body only.
class visitor {
public:
    struct promise_type {
        visitor get_return_object() { return visitor(std::coroutine_handle<promise_type>::from_promise(*this)); }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() noexcept { std::terminate(); }
    };
    ~visitor() { handle_.destroy(); }
    visitor(const visitor&) = delete;
    visitor& operator=(const visitor&) = delete;

    const std::coroutine_handle<>& handle() const { return handle_; }

private:
    explicit visitor(std::coroutine_handle<> h) : handle_(h) {}
    std::coroutine_handle<> handle_;
};

visitor visit() {
    std::puts("visitor rings");
    co_await std::suspend_always();
    std::puts("visitor leaves");
}

// A range that is stepped.
class announced {
public:
    explicit announced(weft::generator<std::string> names) : names_(std::move(names)) {}
    void resume() {
        std::printf("announced: %s\n", at_->c_str());
        ++at_;
    }
    bool done() const { return at_ == std::default_sentinel; }

private:
    weft::generator<std::string> names_;
    weft::generator<std::string>::iterator at_ = names_.begin();
};

// No coroutine at all: it keeps its place by itself.
class lamp {
public:
    explicit lamp(int changes) : left_(changes) {}
    void resume() { std::printf("lamp %s\n", --left_ % 2 == 1 ? "on" : "off"); }
    bool done() const { return left_ == 0; }

private:
    int left_;
};

int all_in_turn() {
    climber climbs(3);
    const visitor visits = visit();
    weft::generator<std::string> guests([](auto& yield) { yield("ann"), yield("ben"); });
    announced names(std::move(guests));
    lamp blinks(4);
    return round_robin({climbs, visits.handle(), names, blinks});
}

// weft's own scheduler takes them, too: a fiber that resumes an object until it is done.
int all_as_fibers() {
    int turns = 0;
    const auto drive = [&turns](weft::resumable auto& object) {
        for (; !object.done(); weft::this_fiber::yield(), ++turns) object.resume();
    };
    climber climbs(2);
    lamp blinks(2);
    weft::with_scope([&](weft::scope& s) {
        s.spawn([&] { drive(climbs); });
        s.spawn([&] { drive(blinks); });
    });
    return turns;
}

}  // namespace

int main() {
    const int turns = all_in_turn();
    const int as_fibers = weft::run(all_as_fibers, {.workers = 1});
    std::printf("%d turns, and %d as fibers\n", turns, as_fibers);
    // A coroutine needs one more to come to its end behind its last pause.
    return turns == (3 + 1) + 2 + 2 + 4 && as_fibers == (2 + 1) + 2 ? 0 : 1;
}

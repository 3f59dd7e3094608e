// main.cpp - walking and breathing at once, with one shared variable and no lock: they take turns only at call() and yield().
#include <cstdio>

#include <weft/coroutine.hpp>

namespace {

constexpr int seconds_to_walk = 10;

struct body {
    int breath_to_take = 0;   // what walking has asked for and breathing has not yet given
    int breath_taken = 0;
};

// Endless: it lives as long as the walker does, and is unwound with it.
class breathing : public weft::coroutine<> {
public:
    explicit breathing(body& b) : coroutine(&breathing::breathe), body_(b) {}

private:
    void breathe() {
        for (int breaths = 1;; ++breaths) {
            std::printf("breath %2d takes %d\n", breaths, body_.breath_to_take);
            body_.breath_taken += body_.breath_to_take;
            body_.breath_to_take = 0;
            yield();
        }
    }
    body& body_;
};

int walk(body& b) {
    breathing breath(b);
    int needed = 0;
    for (int second = 1; second <= seconds_to_walk; ++second) {
        int const effort = 1 + second % 3;   // uphill now and then
        b.breath_to_take += effort;
        needed += effort;
        breath.call();
    }
    return needed;
}

}  // namespace

int main() {
    body b;
    int const needed = walk(b);
    std::printf("walked %d seconds, needed %d, breathed %d\n", seconds_to_walk, needed, b.breath_taken);
    return b.breath_taken == needed && b.breath_to_take == 0 ? 0 : 1;
}

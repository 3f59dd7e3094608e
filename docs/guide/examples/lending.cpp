// lending.cpp - a client of a slow service: at most two connections, a bounded rate, and another attempt when one fails.
#include <weft/weft.hpp>

#include <atomic>
#include <chrono>
#include <iostream>
#include <stdexcept>

using namespace std::chrono_literals;

struct connection {
    int number;
    int ask(int question) {
        if (question == 3 && number == 1) throw std::runtime_error("connection lost");
        return question * 10;
    }
};

int main() {
    weft::run([] {
        int made = 0;
        weft::pool<connection> connections([&] { return connection{++made}; }, {.limit = 2});
        weft::rate_limiter rate({.tokens = 1000, .per = 1s, .burst = 2});

        const auto answer = [&](int question) {
            return weft::retry({.attempts = 3, .first_pause = 1ms}, [&] {
                rate.acquire();
                auto c = connections.acquire();
                try {
                    return c->ask(question);
                } catch (const std::runtime_error&) {
                    c.discard();  // broken: not to be lent again
                    throw;
                }
            });
        };
        int sum = 0;
        for (int question = 1; question <= 5; ++question) sum += answer(question);
        std::cout << sum << " by " << made << " connections\n";
    });
}

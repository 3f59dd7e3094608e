// behaviours.cpp - a state machine whose states are types, and an event source that tells everybody.
#include <weft/weft.hpp>

#include <iostream>
#include <string>

struct coin {};
struct push {};

struct unlocked;
struct locked {
    unlocked on(coin) const;  // to the next state
};
struct unlocked {
    void on(coin) const {}  // stays
    locked on(push) const { return {}; }
    void entered() const { std::cout << "open\n"; }
    void left() const { std::cout << "shut\n"; }
};
unlocked locked::on(coin) const { return {}; }

int main() {
    weft::run([] {
        using turnstile = weft::state_machine<locked, unlocked>;
        const auto gate = weft::spawn_actor<turnstile>({.name = "gate"});
        gate.send(coin{});
        gate.ask(push{});
        try {
            gate.ask(push{});  // locked has nothing for it
        } catch (const weft::actor_gone&) {
            std::cout << "forced\n";
        }

        const weft::event_source<std::string> news({.name = "news"});
        news.add([](const std::string& n) { std::cout << "first: " << n << '\n'; });
        news.add([](const std::string& n) { std::cout << "second: " << n << '\n'; });
        news.notify_and_wait("rain");
    });
}

// actors.cpp - an object that handles one message at a time, a function that does, and a message that is waited for.
#include <weft/weft.hpp>

#include <chrono>
#include <iostream>
#include <stdexcept>
#include <string>

using namespace std::chrono_literals;

class account {
public:
    struct deposit {
        int cents;
    };
    struct withdraw {
        int cents;
    };
    struct balance {
        using reply = int;  // what asking for it yields
    };

    explicit account(int cents) : cents_(cents) {}
    void handle(deposit d) { cents_ += d.cents; }
    void handle(withdraw w) {
        if (w.cents > cents_) throw std::runtime_error("overdrawn");
        cents_ -= w.cents;
    }
    int handle(balance) const { return cents_; }

private:
    int cents_;  // needs no lock: only this actor's fiber uses it
};

struct order {
    std::string what;
};
struct payment {
    std::string what;
};

class shop {
public:
    void handle(const order& o) {
        // Selective receive: the payment for this order; whatever else comes waits for its turn.
        const auto paid = weft::receive<payment>([&](const payment& p) { return p.what == o.what; }, 10s);
        std::cout << o.what << (paid ? " sold\n" : " not paid\n");
    }
    void handle(const payment& p) { std::cout << "nobody ordered " << p.what << '\n'; }
};

int main() {
    weft::run([] {
        auto ann = weft::spawn_actor<account>({.name = "ann", .mailbox = 1024}, 100);
        ann.send(account::deposit{250});                          // goes on at once
        std::cout << ann.ask(account::balance{}) << " cents\n";   // waits for the answer

        const auto end = ann.monitor();
        ann.send(account::withdraw{1000});
        std::cout << "ann " << end.receive()->what() << '\n';
        try {
            ann.ask(account::balance{}, 50ms);
        } catch (const weft::actor_gone& e) {
            std::cout << e.what() << '\n';
        }

        auto tea = weft::spawn_actor<shop>({.name = "shop"});
        tea.send(order{"tea"});
        tea.send(payment{"milk"});
        tea.send(payment{"tea"});
        tea.close();
        tea.monitor().receive();

        auto echo = weft::spawn_actor<std::string>({.name = "echo"}, [](weft::mailbox<std::string>& in) {
            for (const auto& m : in) std::cout << "echo: " << m << '\n';
        });
        echo.send("hello");
        const auto silence = echo.monitor();
        echo.close();
        silence.receive();
    });
}

// main.cpp - a bank of actors: accounts under a supervisor, tellers that move money between them, and a thief who kills accounts.
//
//   bank [ACCOUNTS [TRANSFERS]]
//
// Each account keeps its money in a vault that outlives it, so a restart loses nothing. Prints what happened; ends with 0 if not a
// cent is missing.
#include <weft/weft.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <numeric>
#include <random>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace {

constexpr int at_first = 1000;

class account {
public:
    struct move {
        using reply = bool;  // false: not enough
        int cents;
    };

    explicit account(int* vault) : cents_(*vault) {}
    bool handle(move m) {
        if (cents_ + m.cents < 0) return false;
        weft::this_fiber::yield();  // may be killed here: nothing has happened yet
        cents_ += m.cents;
        return true;
    }

private:
    int& cents_;
};

using account_ref = weft::actor_ref<account>;

/// Moves money; asks again while an account is being restarted. A killed account has not moved anything.
bool move_surely(const account_ref& a, int cents) {
    for (;;) {
        try {
            return a.ask(account::move{cents});
        } catch (const weft::actor_gone&) {
            weft::this_fiber::yield();
        }
    }
}

int work(const std::vector<account_ref>& accounts, unsigned seed, int transfers) {
    std::minstd_rand random(seed);
    std::uniform_int_distribution<std::size_t> any(0, accounts.size() - 1);
    std::uniform_int_distribution<int> cents(1, 400);
    int moved = 0;
    for (int i = 0; i < transfers; ++i) {
        const int amount = cents(random);
        if (!move_surely(accounts[any(random)], -amount)) continue;
        move_surely(accounts[any(random)], amount);
        ++moved;
    }
    return moved;
}

}  // namespace

int main(int argc, char** argv) {
    const int n = argc > 1 ? std::atoi(argv[1]) : 20;
    const int transfers = argc > 2 ? std::atoi(argv[2]) : 2000;
    if (n < 1 || transfers < 0) {
        std::cerr << "bank: at least one account, and no negative number of transfers\n";
        return 2;
    }
    return weft::run([&] {
        std::vector<int> vaults(static_cast<std::size_t>(n), at_first);
        weft::supervisor bank({.strategy = weft::restart::one_for_one, .max_restarts = 1'000'000, .name = "bank"});
        std::vector<account_ref> accounts;
        for (int i = 0; i < n; ++i)
            accounts.push_back(
                bank.start<account>({.name = "account " + std::to_string(i)}, &vaults[static_cast<std::size_t>(i)]));

        int moved = 0;
        weft::with_scope([&](weft::scope& s) {
            auto thief = s.spawn([&] {
                try {
                    for (std::size_t i = 0;; ++i) {
                        accounts[i % accounts.size()].kill();
                        weft::this_fiber::sleep_for(100us);
                    }
                } catch (const weft::cancelled&) {}
            });
            std::vector<weft::child<int>> tellers;
            for (unsigned t = 1; t <= 4; ++t) tellers.push_back(s.spawn([&, t] { return work(accounts, t, transfers / 4); }));
            for (auto& t : tellers) moved += t.join();
            thief.request_stop();
        });
        const int sum = std::accumulate(vaults.begin(), vaults.end(), 0);
        std::cout << moved << " transfers, " << bank.restarts() << " restarts, " << sum << " of " << n * at_first << " cents\n";
        return sum == n * at_first ? 0 : 1;
    });
}

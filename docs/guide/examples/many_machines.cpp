// many_machines.cpp - two nodes in one program: an account on one, a name for it, and what the other sees when the first is gone.
#include <weft/cluster.hpp>
#include <weft/cluster/json.hpp>
#include <weft/cluster/simulated_names.hpp>
#include <weft/cluster/simulated_transport.hpp>
#include <weft/weft.hpp>

#include <iostream>

namespace bank {

struct deposit {
    int cents = 0;
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(deposit, cents)
};
struct balance {
    using reply = int;
    bool in_dollars = false;
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(balance, in_dollars)
};

struct account {
    using remote = weft::cluster::messages<deposit, balance>;  // what other nodes may send

    explicit account(int at_first) : cents(at_first) {}
    void handle(deposit d) { cents += d.cents; }
    int handle(balance b) const { return b.in_dollars ? cents / 100 : cents; }

    int cents;
};

}  // namespace bank

WEFT_WIRE(bank::deposit, "bank.deposit", 1);
WEFT_WIRE(bank::balance, "bank.balance", 1);

namespace {

using namespace std::chrono_literals;

void talk() {
    weft::cluster::simulated_transport words;  // stands for the network between the nodes
    weft::cluster::simulated_names names;  // and this for the store of names
    const auto start = [&](const char* name) {
        return weft::cluster::node({.name = name, .cluster = "bank", .words = words.at(name), .names = names.at(name)});
    };
    weft::cluster::node north = start("north"), south = start("south");

    auto at_home = north.expose(weft::spawn_actor<bank::account>({.name = "ann"}, 100));
    auto lease = north.claim("bank/ann", at_home);
    std::cout << "north has the name: " << (lease && lease->held() ? "yes" : "no") << '\n';

    auto ann = south.find<bank::account>("bank/ann");  // a remote_ref<bank::account>
    auto end = ann.monitor();
    ann.send(bank::deposit{250});
    std::cout << ann.ask(bank::balance{}, 5s) << " cents\n";

    words.kill("north");  // the machine is gone
    names.cut("north");
    if (const auto why = end.receive()) std::cout << why->what() << '\n';
    std::cout << "north has the name: " << (lease->held() ? "yes" : "no") << '\n';
    try {
        ann.ask(bank::balance{}, 5s);
    } catch (const weft::cluster::error& e) {
        std::cout << e.what() << (e.maybe_handled() ? "" : " (it was not handled)") << '\n';
    }
    auto again = south.expose(weft::spawn_actor<bank::account>({.name = "ann"}, 0));
    std::cout << "south can have it: " << (south.claim("bank/ann", again) ? "yes" : "no") << '\n';
}

}  // namespace

int main() {
    weft::run(talk, {.simulate = weft::simulation{}});  // so the lease that ends takes no time
}

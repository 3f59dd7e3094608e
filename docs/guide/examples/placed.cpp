// placed.cpp - an actor that moves from node to node, and whose state outlives the machine under it.
#include <weft/cluster.hpp>
#include <weft/cluster/json.hpp>
#include <weft/cluster/simulated_names.hpp>
#include <weft/cluster/simulated_transport.hpp>
#include <weft/weft.hpp>

#include <iostream>

namespace shop {

struct books {
    int cents = 0;
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(books, cents)
};
struct sale {
    using reply = int;  // the cents of all sales
    int cents = 0;
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(sale, cents)
};

struct ledger {
    using state = books;  // what is stored
    using remote = weft::cluster::messages<sale>;

    explicit ledger(weft::cluster::start<books> from) : now(from.state.value_or(books())) {}
    books save() const { return now; }
    int handle(sale s) { return now.cents += s.cents; }

    books now;
};

}  // namespace shop

WEFT_WIRE(shop::books, "shop.books", 1);
WEFT_WIRE(shop::sale, "shop.sale", 1);

namespace {

using namespace std::chrono_literals;
using weft::cluster::checkpoint;

void sell() {
    weft::cluster::simulated_transport words;
    weft::cluster::simulated_names names;
    const auto start = [&](const char* name) {
        return weft::cluster::node({.name = name, .cluster = "shop", .words = words.at(name), .names = names.at(name)});
    };
    weft::cluster::node north = start("north"), south = start("south");
    auto at_north = weft::cluster::place<shop::ledger>(north, "shop/ledger", {.when = checkpoint::before_answer});
    auto at_south = weft::cluster::place<shop::ledger>(south, "shop/ledger", {.when = checkpoint::before_answer});
    weft::cluster::name_ref<shop::ledger> ledger(north, "shop/ledger");

    const auto sold = [&](int cents) {
        const int sum = ledger.ask(shop::sale{cents}, 1min, weft::cluster::retry::idempotent);
        std::cout << sum << " cents, in the " << (at_north.runs_here() ? "north" : "south") << '\n';
    };
    ledger.ask(shop::sale{0}, 10s);  // it runs now, on one of the two
    if (at_south.runs_here()) at_south.move("north", 10s);
    sold(350);
    at_north.move("south", 10s);
    sold(200);

    words.kill("south");  // the machine is gone
    names.cut("south");
    sold(100);
}

}  // namespace

int main() { weft::run(sell, {.simulate = weft::simulation{}}); }

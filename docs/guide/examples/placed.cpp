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
    int last_sale = 0;
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(books, cents, last_sale)
};
struct sale {
    using reply = int;  // the cents of all sales
    int number = 0;
    int cents = 0;
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(sale, number, cents)
};

struct ledger {
    using state = books;  // what is stored
    using remote = weft::cluster::messages<sale>;

    explicit ledger(weft::cluster::start<books> from) : all(from.state.value_or(books())) {}
    books save() const { return all; }
    int handle(sale s) {
        if (s.number > all.last_sale) {  // to handle a sale twice is as to handle it once
            all.last_sale = s.number;
            all.cents += s.cents;
        }
        return all.cents;
    }

    books all;
};

}  // namespace shop

WEFT_WIRE(shop::books, "shop.books", 1);
WEFT_WIRE(shop::sale, "shop.sale", 1);

namespace {

using namespace std::chrono_literals;
using weft::cluster::checkpoint;

void trade() {
    weft::cluster::simulated_transport words;
    weft::cluster::simulated_names names;
    const auto start = [&](const char* name) {
        return weft::cluster::node({.name = name, .cluster = "shop", .words = words.at(name), .names = names.at(name)});
    };
    weft::cluster::node north = start("north"), south = start("south");
    auto at_north = weft::cluster::place<shop::ledger>(north, "shop/ledger", {.when = checkpoint::before_answer});
    auto at_south = weft::cluster::place<shop::ledger>(south, "shop/ledger", {.when = checkpoint::before_answer});
    weft::cluster::name_ref<shop::ledger> ledger(north, "shop/ledger");

    int number = 0;
    const auto sell = [&](int cents) {
        const int sum = ledger.ask(shop::sale{++number, cents}, 1min, weft::cluster::retry::idempotent);
        std::cout << sum << " cents, on " << (at_north.runs_here() ? "north" : "south") << '\n';
    };
    ledger.ask(shop::sale{}, 10s);  // the actor runs now, on one of the two
    if (at_south.runs_here()) at_south.move("north", 10s);
    sell(350);
    at_north.move("south", 10s);
    sell(200);

    words.kill("south");  // the machine is gone
    names.cut("south");
    sell(100);
}

}  // namespace

int main() { weft::run(trade, {.simulate = weft::simulation{}}); }

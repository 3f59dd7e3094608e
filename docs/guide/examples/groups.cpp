// groups.cpp - an ask to any reader, prices for all, a link between nodes, and a name that passes from one node to another.
#include <weft/cluster.hpp>
#include <weft/cluster/json.hpp>
#include <weft/cluster/simulated_names.hpp>
#include <weft/cluster/simulated_transport.hpp>
#include <weft/weft.hpp>

#include <iostream>

namespace shop {

struct price {
    std::string of;
    int cents = 0;
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(price, of, cents)
};
struct where {
    using reply = std::string;
    int n = 0;
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(where, n)
};
struct fail {
    int n = 0;
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(fail, n)
};

struct till {
    using remote = weft::cluster::messages<where, fail>;

    explicit till(std::string at) : place(std::move(at)) {}
    std::string handle(where) const { return place; }
    void handle(fail) { throw std::runtime_error("no change left"); }
    void handle(const weft::linked_exit& e) { std::cout << e.actor << " has ended: " << e.reason.what() << '\n'; }

    std::string place;
};

}  // namespace shop

WEFT_WIRE(shop::price, "shop.price", 1);
WEFT_WIRE(shop::where, "shop.where", 1);
WEFT_WIRE(shop::fail, "shop.fail", 1);

namespace {

using namespace std::chrono_literals;

void trade() {
    weft::cluster::simulated_transport words;
    weft::cluster::simulated_names names;
    const auto start = [&](const char* name) {
        return weft::cluster::node({.name = name, .cluster = "shop", .words = words.at(name), .names = names.at(name)});
    };
    weft::cluster::node north = start("north"), south = start("south");
    auto mine = weft::spawn_actor<shop::till>({.name = "mine"}, "north");
    auto of_north = north.expose(mine);
    auto of_south = south.expose(weft::spawn_actor<shop::till>({.name = "theirs"}, "south"));

    south.join_group("shop.tills", of_south);
    std::cout << "asked " << north.group<shop::till>("shop.tills").ask(shop::where{}, 1s) << '\n';  // any member of the group

    weft::cluster::topic<shop::price> from(north, "prices"), at(south, "prices");
    auto prices = at.subscribe();
    from.publish({"tea", 350});  // to all subscribers
    if (const auto p = prices.receive()) std::cout << p->of << " costs " << p->cents << " cents\n";

    weft::cluster::name_ref<shop::till> main_till(north, "shop/main");
    auto lease = north.claim("shop/main", of_north);
    std::cout << "the main till is in the " << main_till.ask(shop::where{}, 5s);
    lease->release();
    auto next = south.claim("shop/main", of_south);
    std::cout << ", and then in the " << main_till.ask(shop::where{}, 5s) << '\n';

    weft::cluster::link(mine, north.find<shop::till>("south", "theirs", 1s));
    try {
        main_till.ask(shop::fail{}, 5s);
    } catch (const weft::cluster::error& e) {
        std::cout << e.what() << '\n';
    }
    weft::this_fiber::sleep_for(1s);
}

}  // namespace

int main() { weft::run(trade, {.simulate = weft::simulation{}}); }

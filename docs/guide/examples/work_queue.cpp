// work_queue.cpp - parcels that outlive the node that carries them, and one that nobody can deliver.
#include <weft/cluster.hpp>
#include <weft/cluster/json.hpp>
#include <weft/cluster/simulated_work.hpp>
#include <weft/weft.hpp>

#include <iostream>

namespace shop {

struct parcel {
    std::string to;
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(parcel, to)
};

}  // namespace shop

WEFT_WIRE(shop::parcel, "shop.parcel", 1);

namespace {

using namespace std::chrono_literals;
using weft::cluster::sent;

void deliver_parcels() {
    weft::cluster::simulated_work store;  // stands for the servers that keep the queue
    using parcels = weft::cluster::work_queue<shop::parcel>;
    parcels north(store.at("north"), "parcels"), south(store.at("south"), "parcels", {.max_deliver = 2});

    north.send({"Ann"}, {.id = "order-17"});  // returns when it is stored
    if (north.send({"Ann"}, {.id = "order-17"}) == sent::duplicate) std::cout << "order-17 is stored already\n";
    north.send({""});

    auto taken = north.receive(1).next();
    std::cout << "north has the parcel to " << (*taken)->to << '\n';
    store.cut("north");  // its machine is gone, and the parcel was not acknowledged

    auto from = south.receive(1);
    while (auto d = from.next_for(1min)) {
        const shop::parcel& p = **d;
        if (p.to.empty()) continue;  // without an ack() it is given back
        std::cout << "south has delivered to " << p.to << ", at attempt " << d->delivered() << '\n';
        d->ack();
    }

    auto dead = south.dead();
    auto letters = dead.receive(1);
    auto d = letters.next();
    std::cout << "dead: " << (*d)->reason << '\n';
    if (dead.retry(*d) == sent::stored) std::cout << store.size("parcels") << " parcel waits again\n";
}

}  // namespace

int main() {
    weft::run(deliver_parcels, {.simulate = weft::simulation{}});  // so the pauses take no time
}

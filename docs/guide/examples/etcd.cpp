// etcd.cpp - a name that one of several programs may hold, and another one that is told when it is free.
#include <weft/weft.hpp>

#include <weft/etcd/client.hpp>

#include <chrono>
#include <iostream>

using namespace std::chrono_literals;
namespace etcd = weft::etcd;

int main(int argc, char** argv) {
    if (argc != 2) {
        std::cout << "usage: etcd http://127.0.0.1:2379\n";
        return 0;
    }
    weft::run([&] {
        etcd::client db({.endpoints = {argv[1]}, .prefix = "guide/"});
        db.remove_prefix("");

        const auto claim = [&](const char* who, const etcd::lease& life) {
            const auto answer = db.txn(etcd::txn()
                                           .when(etcd::create_revision_of("owner") == 0)  // nobody has it
                                           .then(etcd::put("owner", who, {.lease = life.id()}))
                                           .otherwise(etcd::get("owner")));
            if (answer.succeeded) return std::string("is mine");
            return "is " + answer.responses.at(0).range().kvs.at(0).value + "'s";
        };

        etcd::lease bobs(db, 10s);
        const auto changes = db.watch("owner");
        {
            etcd::lease anns(db, 10s);  // a fiber renews it; the keys go with it
            std::cout << "ann: it " << claim("ann", anns) << '\n';
            std::cout << "bob: it " << claim("bob", bobs) << '\n';
        }
        for (const etcd::event& e : changes.events())
            if (e.kind == etcd::event_kind::remove) break;
        std::cout << "bob: it " << claim("bob", bobs) << " now\n";

        try {
            db.put("late", "", {.lease = 12345});
        } catch (const etcd::error& e) {
            std::cout << (e.reason() == etcd::etcd_errc::lease_not_found ? "no such lease\n" : e.what());
        }
    });
}

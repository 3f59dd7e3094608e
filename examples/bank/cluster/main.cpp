// main.cpp - a node of the bank as a program: start it several times, with one nats-server and one etcd.
//
//   bank_node NAME [NATS [ETCD]]      such as  bank_node a1 nats://127.0.0.1:4222 http://127.0.0.1:2379
//
// Several servers of one cluster have commas between them: nats://n1:4222,nats://n2:4222
//
// `weft cluster dev` starts all of it.
#include <chrono>
#include <exception>
#include <iostream>

#include <weft/runtime.hpp>

#include "over_engines.hpp"

int main(int argc, char** argv) {
    using namespace std::chrono_literals;
    if (argc < 2 || argc > 4) {
        std::cerr << "bank_node: usage: bank_node NAME [NATS [ETCD]]\n";
        return 2;
    }
    const std::string nats = argc > 2 ? argv[2] : "nats://127.0.0.1:4222", etcd = argc > 3 ? argv[3] : "http://127.0.0.1:2379";
    try {
        weft::run([&] {
            bank::run_node_over({.servers = bank::addresses_in(nats)},
                                {.endpoints = bank::addresses_in(etcd), .request_limit = 2s}, {.name = argv[1]});
        });
    } catch (const std::exception& e) {
        std::cerr << "bank_node: " << e.what() << '\n';
        return 1;
    }
}

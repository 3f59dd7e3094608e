// nats.cpp - what is published comes to all that have subscribed; a request gets one answer.
#include <weft/weft.hpp>

#include <weft/nats.hpp>

#include <iostream>
#include <string>

int main(int count, char** arguments) {
    using namespace std::chrono_literals;
    const std::string server = count > 1 ? arguments[1] : "nats://127.0.0.1:1";  // of TCP's port service multiplexer
    weft::run([&] {
        weft::nats::client nats({.servers = {server}, .name = "guide"});

        auto orders = nats.subscribe("orders.*");
        nats.publish("orders.eu", "7 apples");  // kept until there is a connection
        try {
            nats.flush(500ms);
            std::cout << orders.receive()->payload << '\n';

            auto prices = nats.subscribe("price", {.queue = "sellers"});
            auto seller = weft::spawn([&] {
                for (const weft::nats::message& m : prices) nats.publish(m.reply, m.payload + ": 3");
            });
            std::cout << nats.request("price", "apples", 2s).payload << '\n';
            prices.unsubscribe();
            seller.join();
        } catch (const weft::nats::error& e) {
            std::cout << (e.code() == weft::nats::nats_errc::not_connected ? "no server" : e.what()) << '\n';
        }
    });
}

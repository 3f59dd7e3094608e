#include "over_engines.hpp"

#include <csignal>
#include <cstdio>

#include <weft/cluster/over_etcd.hpp>
#include <weft/cluster/over_nats.hpp>
#include <weft/weft.hpp>

#include "etcd_ledger.hpp"

namespace bank {
namespace {

void print(const std::string& line) {
    const auto text = line + '\n';
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
}

}  // namespace

std::vector<std::string> addresses_in(std::string_view text) {
    std::vector<std::string> all;
    for (std::size_t from = 0, end = 0; end != text.npos; from = end + 1) {
        end = text.find(',', from);
        if (const auto one = text.substr(from, end - from); !one.empty()) all.emplace_back(one);
    }
    return all;
}

void run_node_over(weft::nats::client_options nats, const weft::etcd::client_options& etcd, node_options node) {
    weft::io::signals stop({SIGINT, SIGTERM});
    nats.on_event = [](const weft::nats::event& e) {
        if (e.what == weft::nats::event::kind::server_error) print("NATS refuses: " + e.text);
    };
    node.words = std::make_shared<weft::cluster::nats_transport>(nats);
    node.names = std::make_shared<weft::cluster::etcd_names>(etcd);
    node.ledger = std::make_shared<etcd_ledger>(etcd, node.cluster);
    node.say = print;
    weft::with_scope([&](weft::scope& s) {
        s.spawn([&] { run_node(node); });
        s.spawn([&] {
            stop.wait();
            s.request_stop();
        });
    });
}

}  // namespace bank

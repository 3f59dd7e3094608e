// main.cpp - a node of the long chaos (tests/cluster_chaos/run): it keeps accounts of the bank, sends and
// handles jobs, watches the actors of other nodes, and writes down what it was told and has told.
#include <csignal>
#include <cstdio>
#include <functional>
#include <map>

#include <CLI/CLI.hpp>

#include <weft/cluster/over_etcd.hpp>
#include <weft/cluster/over_jetstream.hpp>
#include <weft/cluster/over_nats.hpp>
#include <weft/weft.hpp>

#include "bank/cluster/over_engines.hpp"
#include "forgetful_ledger.hpp"
#include "watching.hpp"
#include "work.hpp"

namespace chaos {
namespace {

using namespace std::chrono_literals;
namespace cluster = weft::cluster;

void print(const std::string& line) {
    const auto text = records::now() + ' ' + line + '\n';
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
}

class node {
public:
    explicit node(const options& o) : options_(o), records_(o.records) {
        nats_ = {.servers = bank::addresses_in(o.nats), .name = o.self(), .ping_interval = 2s};
        nats_.on_event = [](const weft::nats::event& e) {
            if (!e.text.empty()) print("nats: " + e.text);
        };
        etcd_ = {.endpoints = bank::addresses_in(o.etcd), .request_limit = o.lease_time() / 5};
    }

    void run() {
        weft::io::signals stop({SIGINT, SIGTERM});
        weft::with_scope([&](weft::scope& s) {
            s.spawn([this] { whenever_it_ends("bank", [this] { keep_accounts(); }); });
            s.spawn([this] { whenever_it_ends("work", [this] { handle_jobs(); }); });
            s.spawn([this] { whenever_it_ends("watch", [this] { watch_others(); }); });
            stop.wait();
            s.request_stop();
        });
    }

private:
    /// A part that finds no server at its start is tried again, as a program is that an administrator starts.
    void whenever_it_ends(const std::string& part, const std::function<void()>& f) {
        for (;; weft::this_fiber::sleep_for(1s)) {
            try {
                f();
            } catch (const std::exception& why) {
                records_.add("trouble " + part + ' ' + on_one_line(why.what()));
            }
        }
    }

    void keep_accounts() {
        bank::node_options bank{.name = options_.name, .lease = options_.lease_time()};
        bank.words = std::make_shared<cluster::nats_transport>(nats_);
        bank.names = std::make_shared<cluster::etcd_names>(etcd_);
        if (options_.planted == fault::forgetful_ledger)
            bank.ledger = std::make_shared<forgetful_ledger>(etcd_, bank.cluster);
        else
            bank.ledger = std::make_shared<bank::etcd_ledger>(etcd_, bank.cluster);
        bank.say = print;
        bank::run_node(bank);
    }
    void handle_jobs() {
        work(std::make_shared<cluster::jetstream_work>(nats_, cluster::jetstream_work_options{.cluster = "chaos", .replicas = 3}),
             options_, records_);
    }
    void watch_others() {
        watch(std::make_shared<cluster::nats_transport>(nats_), std::make_shared<cluster::etcd_names>(etcd_), options_, records_);
    }

    const options& options_;
    records records_;
    weft::nats::client_options nats_;
    weft::etcd::client_options etcd_;
};

}  // namespace
}  // namespace chaos

int main(int argc, char** argv) {
    using chaos::fault;
    CLI::App app("A node of tests/cluster_chaos/run.");
    chaos::options o;
    const std::map<std::string, fault> faults{{"none", fault::none},
                                              {"ack-first", fault::acknowledges_first},
                                              {"forgetful-ledger", fault::forgetful_ledger},
                                              {"tells-twice", fault::tells_twice},
                                              {"tells-nobody", fault::tells_nobody}};
    app.add_option("--name", o.name, "Of the node")->required();
    app.add_option("--peers", o.peers, "The names of the other nodes")->delimiter(',');
    app.add_option("--nats", o.nats, "Addresses")->required();
    app.add_option("--etcd", o.etcd, "Addresses")->required();
    app.add_option("--life", o.life, "Which process of this name it is");
    app.add_option("--records", o.records, "The file for what was done")->required();
    app.add_option("--end-of-jobs", o.end_of_jobs, "A file: once it is there, no more jobs are sent")->required();
    app.add_option("--lease", o.lease, "Seconds")->capture_default_str();
    app.add_option("--planted", o.planted, "A fault")->transform(CLI::CheckedTransformer(faults));
    CLI11_PARSE(app, argc, argv);
    try {
        weft::run([&] { chaos::node(o).run(); }, {.workers = 2});
    } catch (const std::exception& e) {
        std::fprintf(stderr, "chaos_node: %s\n", e.what());
        return 1;
    }
}

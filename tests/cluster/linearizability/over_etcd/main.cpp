// main.cpp - one node over a real etcd, whose clients want the same names as those of other nodes. ../run_over_etcd starts
// several, and kills them.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>

#include <weft/cluster/over_etcd.hpp>
#include <weft/cluster/simulated_transport.hpp>
#include <weft/weft.hpp>

#include "cluster/linearizability/contender.hpp"

namespace {

using namespace std::chrono_literals;

struct options {
    std::string node, output;
    std::vector<std::string> etcd;
    int first_client = 0, clients = 8, names = 20;
    double lease = 6, period = 20, until = 0;
};

std::chrono::nanoseconds seconds(double n) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(n));
}

double clock_now() { return std::chrono::duration<double>(weft::now().time_since_epoch()).count(); }

/// A descriptor that is open for as long as this.
class output_file {
public:
    explicit output_file(const std::string& path) : fd_(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644)) {
        if (fd_ < 0) throw std::system_error(errno, std::generic_category(), path);
    }
    ~output_file() { ::close(fd_); }
    output_file(const output_file&) = delete;
    output_file& operator=(const output_file&) = delete;
    int descriptor() const noexcept { return fd_; }

private:
    int fd_;
};

/// Names change with the time, on all nodes at once, so that no history of a name becomes long.
std::string choose(const options& o) {
    const auto period = static_cast<std::uint64_t>(std::floor(clock_now() / o.period));
    return std::to_string(period) + "/" + std::to_string(weft::draw(static_cast<std::uint32_t>(o.names)));
}

void run(const options& o) {
    const output_file file(o.output);
    linearizability::history recorded(file.descriptor());
    weft::io::signals stop({SIGINT, SIGTERM});
    weft::cluster::simulated_transport words;  // names need none
    const auto lease = seconds(o.lease);
    const auto store = std::make_shared<linearizability::watched_store>(std::make_shared<weft::cluster::etcd_names>(
        weft::etcd::client_options{.endpoints = o.etcd, .connect_timeout = lease / 6, .request_limit = lease / 5}));
    const auto core = std::make_shared<weft::cluster::detail::node_core>(
        weft::cluster::node_options{
            .name = o.node, .cluster = "names", .words = words.at(o.node), .names = store, .lease = lease, .give_up = lease},
        weft::cluster::detail::node_faults{});
    core->open();
    weft::with_scope([&](weft::scope& s) {
        for (int n = 0; n < o.clients; ++n)
            s.spawn([&, client = o.first_client + n] {
                linearizability::contender({.into = recorded,
                                            .node = *core,
                                            .store = *store,
                                            .goes_on = [&] { return clock_now() < o.until; },
                                            .choose = [&] { return choose(o); }},
                                           client)
                    .run();
            });
        s.spawn([&] {
            stop.wait();
            s.request_stop();
        });
        while (clock_now() < o.until) weft::this_fiber::sleep_for(100ms);
        s.request_stop();
    });
    core->close();
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("One node over etcd, whose clients claim names, hold them, give them up and look for their owners.");
    options o;
    app.add_option("--node", o.node, "Its name")->required();
    app.add_option("--etcd", o.etcd, "URLs of the members")->required()->delimiter(',');
    app.add_option("--output", o.output, "A new file for what was asked and answered")->required();
    app.add_option("--until", o.until, "When it ends, in seconds of CLOCK_MONOTONIC")->required();
    app.add_option("--first-client", o.first_client, "The number of its first client")->capture_default_str();
    app.add_option("--clients", o.clients, "How many fibers want names")->capture_default_str();
    app.add_option("--names", o.names, "How many names there are at a time")->capture_default_str();
    app.add_option("--period", o.period, "For how many seconds the same names are wanted")->capture_default_str();
    app.add_option("--lease", o.lease, "Of the node, in seconds")->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    try {
        weft::run([&] { run(o); });
    } catch (const std::exception& e) {
        std::cerr << "names_process: " << o.node << ": " << e.what() << '\n';
        return EXIT_FAILURE;
    }
}

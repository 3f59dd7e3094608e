// processes.cpp - one program as three processes: a master, and two workers that share its port. One of them is killed, and replaced.
#include <weft/prefork.hpp>
#include <weft/weft.hpp>

#include <array>
#include <csignal>
#include <iostream>
#include <set>
#include <string>

#include <unistd.h>

void serve(weft::prefork::worker& w) {  // in each worker
    weft::tcp::listener listener = w.listener(0);
    const auto accept = [&] {
        weft::with_scope([&](weft::scope& connections) {
            for (weft::tcp::stream peer : listener)
                connections.spawn([s = std::move(peer)]() mutable { s.write_all(std::to_string(::getpid()) + '\n'); });
        });
    };
    w.serve(accept, [&] { listener.close(); });
}

int ask(const weft::net::endpoint& at) { return std::stoi(weft::tcp::stream::connect(at).read_until('\n', 32)); }

std::set<int> two_processes(const weft::net::endpoint& at, int without = 0) {
    std::set<int> seen;
    while (seen.size() < 2) try {
            if (const int process = ask(at); process != without) seen.insert(process);
        } catch (const std::exception&) {
            // It was just accepted by the one that is killed.
        }
    return seen;
}

void try_it(const weft::net::endpoint& at) {  // in the master
    const auto first = two_processes(at);
    std::cout << first.size() << " processes answer\n";
    const int victim = *first.begin();
    ::kill(victim, SIGKILL);
    std::cout << two_processes(at, victim).size() << " processes answer again\n";
    ::kill(::getpid(), SIGTERM);
}

int main(int argc, char** argv) {
    return weft::prefork::run(argc, argv,
                              {.processes = 2,
                               .listen = {{.host = "127.0.0.1", .port = 0}},
                               .on_ready = [](auto ports) { try_it(ports[0]); },
                               .on_event =
                                   [](std::string_view line) {
                                       if (line.find("killed") != line.npos) std::cout << "a worker was killed\n";
                                   }},
                              serve);
}

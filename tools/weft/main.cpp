// main.cpp - the weft command.
#include <iostream>

#include <CLI/CLI.hpp>

#include "bench/command.hpp"
#include "cluster/command.hpp"
#include "command_line.hpp"
#include "dump/command.hpp"
#include "reload/command.hpp"
#include "run/command.hpp"

int main(int argc, char** argv) {
    CLI::App program("weft: stackful fibers for C++20", "weft");
    program.callback([&program] {  // instead of require_subcommand(), which would not name an unknown command
        if (program.get_subcommands().empty()) throw CLI::RequiredError("a command");
    });

    program.set_version_flag("--version", "weft " WEFT_VERSION, "Print the version");

    users::serve_options options{.words = {argv, static_cast<std::size_t>(argc)}};
    users::add_serve(*program.add_subcommand("serve", "Serve users over HTTP from SQLite or Redis"), options);
    bench::bench_options benchmarks;
    bench::add_bench(*program.add_subcommand("bench", "Measure weft with the workloads of its seeds"), benchmarks);
    dump::dump_options dumps;
    dump::add_dump(*program.add_subcommand("dump", "Show the fibers of a process"), dumps);
    dump::dump_options hooks;
    dump::add_hooks(*program.add_subcommand("hooks", "Show which calls of libraries have parked in the fibers of a process"), hooks);
    run::run_options runs;
    run::add_run(*program.add_subcommand("run", "Start a program in which calls that block park in fibers"), runs);
    reload::reload_options reloads;
    reload::add_reload(*program.add_subcommand("reload", "Let a master process replace its worker processes"), reloads);
    cluster::cluster_options clusters;
    cluster::add_cluster(*program.add_subcommand("cluster", "Try actors on several nodes, with NATS and etcd"), clusters);
    program.add_subcommand("version", "Print the version")->callback([] { std::cout << "weft " WEFT_VERSION << std::endl; });
    return users::run_command_line(program, argc, argv);
}

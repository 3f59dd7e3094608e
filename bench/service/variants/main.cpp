// main.cpp - the users service in every variant that the seeds compare: how the routes are written, where the users are, how many processes.
//
// Prints one line, `listening on http://HOST:PORT`, when connections can come.
#include <algorithm>
#include <iostream>
#include <map>
#include <stdexcept>

#include <CLI/CLI.hpp>

#include "processes.hpp"
#include "serving.hpp"

namespace {

using variants::options;
using variants::storage;
using variants::style;

constexpr int exit_usage = 2;

const std::map<std::string, style> styles{{"bare", style::bare},
                                          {"fibers", style::fibers},
                                          {"promises", style::promises},
                                          {"framework", style::framework},
                                          {"callbacks", style::callbacks}};
const std::map<std::string, storage> storages{
    {"redis", storage::redis}, {"cached", storage::cached}, {"spread", storage::spread}};

void add_options(CLI::App& program, options& o, unsigned& cache_ms, double& grace) {
    program
        .add_option("--style", o.style,
                    "how the routes are written. bare: one function that looks at method and path; fibers: routes, and handlers "
                    "in straight-line code; promises: handlers that are chains of weft::ivar; framework: handlers behind "
                    "middleware, with services found by type; callbacks: no fibers, functions called by weft's I/O engine, on "
                    "one thread for each process")
        ->transform(CLI::CheckedTransformer(styles))
        ->type_name("STYLE")
        ->default_str("fibers");
    program
        .add_option("--store", o.storage,
                    "where the users are. redis: one server; cached: one server, and what was read is kept in the process for "
                    "--cache-for; spread: several servers, chosen by a hash of the id")
        ->transform(CLI::CheckedTransformer(storages))
        ->type_name("STORE")
        ->default_str("redis");
    program.add_option("--redis", o.redis, "a Redis server; twice or more for --store spread")
        ->type_name("redis://H:P")
        ->default_str("redis://127.0.0.1:6379");
    program.add_option("--listen", o.listen, "address and port; port 0 picks one")->type_name("HOST:PORT")->capture_default_str();
    program.add_option("--workers", o.workers, "threads that run fibers, in each process; 0: one per usable CPU")
        ->check(CLI::Range(0, 1024))
        ->type_name("N")
        ->capture_default_str();
    program.add_option("--processes", o.processes, "processes that share the port, forked before they have threads")
        ->check(CLI::Range(1, 64))
        ->type_name("N")
        ->capture_default_str();
    program.add_option("--cache-for", cache_ms, "how long --store cached keeps a user, and so how old an answer can be")
        ->type_name("MS")
        ->capture_default_str();
    program.add_option("--grace", grace, "seconds that requests in flight have to finish after SIGINT or SIGTERM")
        ->check(CLI::Range(0.0, 1e6))
        ->type_name("SECONDS")
        ->capture_default_str();
}

void check(options& o) {
    if (o.redis.empty()) o.redis.emplace_back("redis://127.0.0.1:6379");
    if (o.storage == storage::spread && o.redis.size() < 2)
        throw std::invalid_argument("--store spread needs two or more servers: --redis URL --redis URL");
    if (o.storage != storage::spread && o.redis.size() > 1) throw std::invalid_argument("several --redis are for --store spread");
    if (o.style == style::callbacks && o.workers > 1)
        throw std::invalid_argument("--style callbacks has one thread for each process: use --processes instead of --workers");
}

int refuse(std::string reason) {
    std::ranges::replace(reason, '\n', ' ');
    std::cerr << "users_variants: " << reason << std::endl;
    return exit_usage;
}

int serve(const options& o) {
    const auto listening = [](const weft::net::endpoint& at) {
        std::cout << "listening on http://" << to_string(at) << std::endl;  // flushed: scripts wait for it
    };
    const auto at = weft::net::endpoint::parse(o.listen);
    if (o.processes > 1) return variants::serve_by_processes(o, at, listening);
    variants::serve(o, {.at = at}, listening);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App program(
        "Serves users over HTTP: GET and DELETE /users/{id}, POST /users, GET /healthz, in one of several variants "
        "that answer alike. bench/service/run measures them.",
        "users_variants");
    options o;
    auto cache_ms = static_cast<unsigned>(o.cache_for.count());
    double grace = 10;
    add_options(program, o, cache_ms, grace);
    try {
        program.parse(argc, argv);
        o.cache_for = std::chrono::milliseconds(cache_ms);
        o.grace = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(grace));
        check(o);
        return serve(o);
    } catch (const CLI::ParseError& wrong) {
        if (wrong.get_exit_code() == 0) return program.exit(wrong);  // --help
        return refuse(std::string(wrong.what()) + "; see --help");
    } catch (const std::exception& failure) {
        return refuse(failure.what());
    }
}

// command_line.cpp - CLI11, compiled once for all programs that serve.
#include "command_line.hpp"

#include <algorithm>
#include <iostream>

#include <CLI/CLI.hpp>

namespace users {

namespace {

constexpr int exit_usage = 2;

int refuse(const CLI::App& program, std::string reason) {
    std::ranges::replace(reason, '\n', ' ');
    std::cerr << program.get_name() << ": " << reason << std::endl;
    return exit_usage;
}

}  // namespace

void add_serve(CLI::App& command, serve_options& options) {
    command.add_option("--listen", options.listen, "address and port, or unix:/path; port 0 picks one")
        ->type_name("HOST:PORT")->capture_default_str();
    command.add_option("--store", options.store, "an SQLite file, made if it is not there, or a Redis server (rediss:// with TLS)")
        ->type_name("FILE|redis://H:P")->capture_default_str();
    command.add_option("--store-ca", options.store_ca, "authorities that a rediss:// server's certificate must be from, in PEM; default: the system's")
        ->type_name("FILE");
    command.add_option("--tls-cert", options.tls_certificate, "serve https:// with this certificate and those between it and its authority, in PEM")
        ->type_name("FILE");
    command.add_option("--tls-key", options.tls_key, "the key of the certificate, in PEM; SIGHUP reads both again")->type_name("FILE");
    command.add_option("--workers", options.workers, "threads that run fibers; 0: one per usable CPU")
        ->check(CLI::Range(0, 1024))->type_name("N")->capture_default_str();
    command.add_option("--processes", options.processes, "worker processes that share the port, replaced by SIGHUP (weft reload); 0: one per usable CPU")
        ->check(CLI::Range(0, 1024))->type_name("N")->default_str("none: this process alone");
    command.add_option_function<double>(
        "--grace",
        [&options](double seconds) {
            if (!(seconds >= 0)) throw CLI::ValidationError("--grace", "must be zero or more seconds");
            const std::chrono::duration<double> grace(std::min(seconds, 1e9));  // within the range of nanoseconds
            options.grace = std::chrono::duration_cast<std::chrono::nanoseconds>(grace);
        },
        "seconds that requests in flight have to finish after SIGINT or SIGTERM")
        ->type_name("SECONDS")->default_str("10");
    command.callback([&options] { options.processes ? serve_with_processes(options) : serve(options); });
}

int run_command_line(CLI::App& program, int argc, char** argv) {
    try {
        program.parse(argc, argv);
        return 0;
    } catch (const CLI::ParseError& wrong) {
        if (wrong.get_exit_code() == 0) return program.exit(wrong);  // --help
        return refuse(program, std::string(wrong.what()) + "; see --help");
    } catch (const std::exception& failure) {
        return refuse(program, failure.what());
    }
}

}  // namespace users

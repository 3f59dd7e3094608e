// options.cpp - reads the command line.
#include "options.hpp"

#include <iostream>
#include <string>

#include <CLI/CLI.hpp>

namespace http_check {

std::optional<options> parse(int argc, char** argv, int& exit_code) {
    options o;
    CLI::App program("Asks a users service for random users and checks that every answer is the one that was asked for.", "http_check");
    program.add_option_function<std::string>(
        "server",
        [&o](const std::string& text) {
            try {
                o.server = weft::net::endpoint::parse(text);
            } catch (const std::invalid_argument& e) {
                throw CLI::ValidationError("server", e.what());
            }
        },
        "where the service listens")->type_name("HOST:PORT")->required();
    const auto number = [&](const char* name, auto& into, const char* what) {
        return program.add_option(name, into, what)->type_name("N")->capture_default_str();
    };
    number("--connections", o.connections, "connections that ask at the same time")->check(CLI::PositiveNumber);
    number("--requests", o.requests, "requests of all connections together");
    number("--seconds", o.seconds,
           "if not 0: asks for so long, or until SIGTERM, one request at a time, and connects again where the server ends a connection; "
           "counts answers that are wrong, connections that are refused, and requests that are cut off")->check(CLI::NonNegativeNumber);
    number("--depth", o.depth, "requests sent before the first answer is read")->check(CLI::PositiveNumber);
    number("--keys", o.keys, "users to create and to ask for")->check(CLI::PositiveNumber);
    number("--idle", o.idle, "connections that are open meanwhile and ask nothing");
    number("--workers", o.workers, "threads that run fibers; 0: one per usable CPU");
    number("--seed", o.seed, "of the order of the requests");
    try {
        program.parse(argc, argv);
        return o;
    } catch (const CLI::Success& e) {
        exit_code = program.exit(e);
    } catch (const CLI::ParseError& e) {
        std::cerr << "http_check: " << e.what() << std::endl;
        exit_code = 2;
    }
    return std::nullopt;
}

}  // namespace http_check

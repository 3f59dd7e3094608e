// options.hpp - what http_check is told on its command line.
#pragma once

#include <cstdint>
#include <optional>

#include <weft/net/endpoint.hpp>

namespace http_check {

struct options {
    weft::net::endpoint server;
    unsigned connections = 100;
    std::uint64_t requests = 1'000'000;
    double seconds = 0;                    // if not 0: asks for so long, and follows a server whose processes are replaced
    unsigned depth = 1;                    // requests sent before the first answer is read
    unsigned keys = 1000;
    unsigned idle = 0;
    unsigned workers = 0;
    std::uint64_t seed = 1;
};

/// Nothing if the program is to end with `exit_code`: help was asked for, or the line was wrong and is explained on stderr.
std::optional<options> parse(int argc, char** argv, int& exit_code);

}  // namespace http_check

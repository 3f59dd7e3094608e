// options.hpp - what http_check is told on its command line.
#pragma once

#include <cstdint>
#include <stdexcept>

#include <weft/net/endpoint.hpp>

namespace http_check {

struct options {
    weft::net::endpoint server;
    unsigned connections = 100;
    std::uint64_t requests = 1'000'000;
    unsigned depth = 1;                    // requests sent before the first answer is read
    unsigned keys = 1000;
    unsigned idle = 0;
    unsigned workers = 0;
    std::uint64_t seed = 1;
};

struct bad_usage : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// \throws  bad_usage with one line.
options parse(int argc, char** argv);

}  // namespace http_check

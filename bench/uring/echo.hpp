// echo.hpp - the first experiment: what a round trip costs the thread of a server by epoll and by
// io_uring.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "ring.hpp"
#include "servers.hpp"
#include "system.hpp"

namespace bench::uring {

constexpr std::size_t message_bytes = 64;

/// One way to write the server.
struct way {
    std::string name;
    std::function<void(std::vector<descriptor>)> serve;
};

/// epoll, which comes first, and each mode of a ring, with both ways to send.
std::vector<way> ways(std::span<const ring_mode>);

struct echo_options {
    cpu_pair cpus;
    unsigned connections = 64;
    unsigned runs = 15;
    std::chrono::milliseconds window{300};  ///< of one measurement, after a tenth of it to warm up
};

/// The figures of one way, a figure for each run.
struct echo_row {
    std::string name;
    std::vector<double> cpu_us{};      ///< of the server's thread, for a round trip
    std::vector<double> to_epoll{};    ///< cpu_us by that of epoll in the same run
    std::vector<double> per_second{};  ///< round trips
    std::vector<double> busy{};        ///< percent of the window that the server's thread has run
};

/// Takes the ways in turn, run after run, after one run that is not counted.
std::vector<echo_row> compare(const std::vector<way>&, const echo_options&);

}  // namespace bench::uring

// load.hpp - clients that keep their connections and ask the same again and again, and what that costs the server.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <weft/net/endpoint.hpp>

namespace bench {

class session;

/// A server that listens; it runs in a fiber of its own runtime.
struct served {
    weft::net::endpoint at;
    std::function<void()> serve;           ///< returns after stop()
    std::function<void()> stop;
};

enum class company { none, hogs };         ///< what else computes in the server's process

struct load {
    std::string target;
    std::uint64_t n;                       ///< requests
    std::string variant = "fibers";        ///< begins the names of the figures
    company beside = company::none;
};

/// For each number of workers: opens a server in a runtime of so many, and asks it for the target over 100 connections from
/// another such runtime. Reports requests per second, how long one took, and the server's CPU time for each if it is alone.
void measure_server(session&, const load&, const std::function<void(const std::function<void(served&)>&)>& open);

}  // namespace bench

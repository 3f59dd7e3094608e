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

/// For each number of workers: opens a server in a runtime of so many, and asks it `n` times for `target` over 100
/// connections from another such runtime. Reports requests per second and the CPU time of the server for a request.
void measure_server(session&, const std::string& target, std::uint64_t n,
                    const std::function<void(const std::function<void(served&)>&)>& open);

}  // namespace bench

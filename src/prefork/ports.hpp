// ports.hpp - the ports of a master: opened by itself, by the program before it, or by a supervisor of services.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <weft/net/endpoint.hpp>
#include <weft/net/tcp.hpp>
#include <weft/prefork.hpp>

namespace weft::prefork {

struct open_port {
    net::endpoint asked;  // for which it was opened
    tcp::listener listener;
};

/// A descriptor that was given to this process by the variables LISTEN_PID, LISTEN_FDS and
/// LISTEN_FDNAMES, as systemd does it.
struct given_descriptor {
    int number = -1;
    std::string name = {};
};

/// Takes the variables out of the environment, if they are for this process.
std::vector<given_descriptor> take_given_descriptors();

/// For each entry of options::listen the one in `given` that was opened for it or has its address;
/// otherwise a new one. What remains in `given` is for none of them. \parks \throws std::system_error
std::vector<open_port> open_ports(const options&, std::vector<open_port>& given);

}  // namespace weft::prefork

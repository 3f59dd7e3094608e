#include "prefork/ports.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>

#include <weft/net/resolve.hpp>

#include "base/direct.hpp"

namespace weft::prefork {
namespace {

constexpr int first_given = 3;      // required: sd_listen_fds(3)
constexpr int most_given = 10'000;  // chosen: a number beyond it is a mistake

int number_in(const char* variable) noexcept {
    const char* const text = ::getenv(variable);
    const std::string_view all = text ? text : "";
    int n = -1;
    const auto [end, error] = std::from_chars(all.data(), all.data() + all.size(), n);
    return error == std::errc() && end == all.data() + all.size() ? n : -1;
}

/// Whether a port for `at` would listen on this address.
bool has_address(const net::endpoint& local, const net::endpoint& at) {
    if (at.port == 0 || at.port != local.port) return false;
    if (at.host.empty()) return local.host == "::" || local.host == "0.0.0.0";
    std::error_code unknown;  // then opening it says so
    const auto all = net::resolve(at.host, at.port, unknown);
    return std::ranges::find(all, local) != all.end();
}

}  // namespace

std::vector<given_descriptor> take_given_descriptors() {
    if (number_in("LISTEN_PID") != ::getpid()) return {};
    const int n = std::clamp(number_in("LISTEN_FDS"), 0, most_given);
    const char* const text = ::getenv("LISTEN_FDNAMES");
    std::string_view names = text ? text : "";
    std::vector<given_descriptor> all;
    for (int fd = first_given; fd < first_given + n; ++fd) {
        const auto name = names.substr(0, names.find(':'));
        names.remove_prefix(std::min(name.size() + 1, names.size()));
        if (detail::direct::fcntl(fd, F_SETFD, FD_CLOEXEC) == 0) all.push_back({.number = fd, .name = std::string(name)});
    }
    for (const char* const variable : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}) ::unsetenv(variable);
    return all;
}

std::vector<open_port> open_ports(const options& o, std::vector<open_port>& given) {
    std::vector<open_port> ports;
    for (const auto& at : o.listen) {
        auto found = std::ranges::find(given, at, &open_port::asked);
        if (found == given.end())
            found = std::ranges::find_if(given, [&](const open_port& p) { return has_address(p.listener.local(), at); });
        if (found == given.end()) {
            ports.push_back({at, tcp::listener(at, o.listening)});
        } else {
            ports.push_back({at, std::move(found->listener)});
            given.erase(found);
        }
    }
    return ports;
}

}  // namespace weft::prefork

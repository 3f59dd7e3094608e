#include "prefork/ports.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>

#include <weft/net/resolve.hpp>

#include "base/direct.hpp"
#include "base/owned_descriptor.hpp"
#include "net/host.hpp"

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

socket_file file_at(const std::string& path) noexcept {
    struct stat is {};
    if (::lstat(path.c_str(), &is) != 0 || !S_ISSOCK(is.st_mode)) return {};
    return {.device = is.st_dev, .inode = is.st_ino};
}

/// Whether a port for `at` would listen on this address.
bool has_address(const net::endpoint& local, const net::endpoint& at) {
    if (local == at && detail::is_unix(at.host)) return true;
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

void taken_path::remove() noexcept {
    if (const auto is = std::exchange(is_, {}); is.is_there() && file_at(path_) == is) ::unlink(path_.c_str());
}

open_port open_port::opened(const net::endpoint& asked, const options& o) {
    if (!detail::is_unix(asked.host)) return {asked, tcp::listener(asked, o.listening)};
    const auto at = unix_socket::address::of(asked);
    open_port port(asked, unix_socket::listener(at, o.unix_listening));
    if (!at.path.empty()) port.file_ = file_at(at.path);
    return port;
}

open_port open_port::taken(std::optional<net::endpoint> asked, int descriptor, socket_file file) {
    std::error_code error;
    auto as_unix = unix_socket::listener::from_descriptor(descriptor, error);
    auto l = error ? any_listener(tcp::listener::from_descriptor(descriptor)) : any_listener(std::move(as_unix));
    const auto at = std::visit([](const auto& any) -> net::endpoint { return any.local(); }, l);
    open_port port(asked ? *asked : at, std::move(l));
    port.file_ = file;
    if (file.is_there()) port.path_ = taken_path(unix_socket::address::of(at).path, file);
    return port;
}

open_port open_port::for_entry(const net::endpoint& asked) && {
    asked_ = asked;
    return std::move(*this);
}

net::endpoint open_port::local() const {
    return std::visit([](const auto& l) -> net::endpoint { return l.local(); }, listener_);
}

int open_port::descriptor() const noexcept {
    return std::visit([](const auto& l) { return l.native_handle(); }, listener_);
}

void open_port::refuse_connections() noexcept {
    auto* const l = std::get_if<unix_socket::listener>(&listener_);
    if (!l) {
        ::shutdown(descriptor(), SHUT_RD);
        return;
    }
    const detail::owned_descriptor socket(static_cast<int>(detail::direct::fcntl(descriptor(), F_DUPFD_CLOEXEC, 0)));
    // The path goes first, while the socket listens (UNIX_BOUND-2).
    path_.remove();
    l->close();
    ::shutdown(socket.get(), SHUT_RD);
}

std::vector<open_port> open_ports(const options& o, std::vector<open_port>& given) {
    std::vector<open_port> ports;
    for (const auto& at : o.listen) {
        auto found = std::ranges::find(given, at, &open_port::asked);
        if (found == given.end())
            found = std::ranges::find_if(given, [&](const open_port& p) { return has_address(p.local(), at); });
        if (found == given.end()) {
            ports.push_back(open_port::opened(at, o));
        } else {
            ports.push_back(std::move(*found).for_entry(at));
            given.erase(found);
        }
    }
    return ports;
}

}  // namespace weft::prefork

#include "prefork/ports.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <string_view>
#include <system_error>

#include <weft/net/resolve.hpp>

#include "base/direct.hpp"
#include "net/accepting.hpp"
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

open_port open_port::opened(const net::endpoint& asked, const options& o) {
    if (!detail::is_unix(asked.host)) return {asked, tcp::listener(asked, o.listening), opened_by::a_master};
    return {asked, unix_socket::listener(unix_socket::address::of(asked), o.unix_listening), opened_by::a_master};
}

open_port open_port::taken(std::optional<net::endpoint> asked, int descriptor, opened_by whose, detail::socket_file file) {
    auto l = detail::is_unix_socket(descriptor) ? any_listener(unix_socket::listener::from_descriptor(descriptor))
                                                : any_listener(tcp::listener::from_descriptor(descriptor));
    open_port port({}, std::move(l), whose);
    port.asked_ = asked ? *asked : port.local();
    if (auto* const s = std::get_if<unix_socket::listener>(&port.listener_); s && file.is_there())
        detail::bound_path::give(*s, std::make_shared<detail::bound_path>(unix_socket::address::of(s->local()).path, file));
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

detail::bound_path* open_port::path() const noexcept {
    const auto* const s = std::get_if<unix_socket::listener>(&listener_);
    return s ? detail::bound_path::of(*s) : nullptr;
}

detail::socket_file open_port::file() const noexcept { return path() ? path()->file() : detail::socket_file(); }

void open_port::refuse_connections() noexcept {
    if (whose_ == opened_by::supervisor) return;
    if (auto* const p = path()) p->remove();  // first (UNIX_BOUND-2)
    ::shutdown(descriptor(), SHUT_RD);
    // TCP has reset what waited. Of a Unix socket it would wait until the last worker has ended.
    for (long fd = 0; (fd = detail::direct::accept(descriptor(), SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0;)
        detail::direct::close(static_cast<int>(fd));
}

std::vector<open_port> open_ports(const options& o, std::vector<open_port>& given, const std::function<void()>& before_paths) {
    std::vector<std::optional<open_port>> ports(o.listen.size());
    for (std::size_t i = 0; i < ports.size(); ++i) {
        const auto& at = o.listen[i];
        auto found = std::ranges::find(given, at, &open_port::asked);
        if (found == given.end())
            found = std::ranges::find_if(given, [&](const open_port& p) { return has_address(p.local(), at); });
        if (found == given.end()) {
            if (!detail::is_unix(at.host)) ports[i] = open_port::opened(at, o);
            continue;
        }
        ports[i] = std::move(*found).for_entry(at);
        given.erase(found);
    }
    before_paths();
    std::vector<open_port> all;
    for (std::size_t i = 0; i < ports.size(); ++i)
        all.push_back(ports[i] ? std::move(*ports[i]) : open_port::opened(o.listen[i], o));
    return all;
}

}  // namespace weft::prefork

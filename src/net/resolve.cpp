#include <weft/net/resolve.hpp>

#include <netdb.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

#include <weft/blocking.hpp>

#include "io/blocking_calls.hpp"
#include "io/operation.hpp"
#include "io/refused_here.hpp"
#include "net/host.hpp"
#include "net/look_up.hpp"
#include "net/socket_address.hpp"

namespace weft::net {
namespace {

constexpr int bad_host = 1;  // getaddrinfo's own codes are negative

class resolve_errors final : public std::error_category {
    const char* name() const noexcept override { return "resolve"; }
    std::string message(int code) const override {
        return code == bad_host ? std::string(detail::not_a_host) : ::gai_strerror(code);
    }
    std::error_condition default_error_condition(int code) const noexcept override {
        if (code == EAI_AGAIN) return std::errc::resource_unavailable_try_again;
        if (code == bad_host) return std::errc::invalid_argument;
        if (code == EAI_MEMORY) return std::errc::not_enough_memory;
        return {code, *this};
    }
};

/// Runs on a thread for look-ups. A caller that is interrupted leaves the look-up running there.
detail::name_answer look_up_elsewhere(std::string host, std::uint16_t port) {
    return await_callback<detail::name_answer>([&](resumer<detail::name_answer> resume) {
        detail::blocking_detached_in(detail::pool_for::look_ups, [host = std::move(host), port, resume] {
            try {
                resume(detail::look_up_name(host, port));
            } catch (...) {
                resume(std::current_exception());
            }
        });
    });
}

std::vector<endpoint> resolve_or(std::string_view host, std::uint16_t port, std::error_code& error) {
    error.clear();
    if (detail::is_unix(host)) {
        error = {EAFNOSUPPORT, std::system_category()};  // a user of TCP was given a Unix socket
        return {};
    }
    if (!detail::is_host(host)) {
        error = {bad_host, resolve_category()};
        return {};
    }
    if (host.empty()) return {{.host = "::1", .port = port}, {.host = "127.0.0.1", .port = port}};
    endpoint literal{.host = std::string(host), .port = port};
    if (detail::parse_numeric(literal)) return {std::move(literal)};
    if ((error = detail::refused_here())) return {};
    auto found = look_up_elsewhere(std::string(host), port);
    error = found.error;
    return std::move(found.addresses);
}

}  // namespace

const std::error_category& resolve_category() noexcept {
    static const resolve_errors category;
    return category;
}

std::vector<endpoint> resolve(std::string_view host, std::uint16_t port) {
    detail::check_interrupt();
    std::error_code error;
    auto found = resolve_or(host, port, error);
    if (error)
        throw std::system_error(error, "weft: resolve " + (detail::is_host(host) ? std::string(host) : detail::in_quotes(host)));
    return found;
}

std::vector<endpoint> resolve(std::string_view host, std::uint16_t port, std::error_code& error) {
    if (const auto interrupt = detail::pending_interrupt()) {
        error = detail::interrupt_error(*interrupt);
        return {};
    }
    try {
        return resolve_or(host, port, error);
    } catch (const cancelled&) {
        error = detail::interrupt_error(detail::interrupt_reason());
    } catch (const std::system_error& e) {
        error = e.code();
    }
    return {};
}

}  // namespace weft::net

namespace weft::detail {

name_answer look_up_name(const std::string& host, std::uint16_t port) {
    addrinfo wanted{};
    wanted.ai_family = AF_UNSPEC;
    wanted.ai_socktype = SOCK_STREAM;
    wanted.ai_flags = AI_NUMERICSERV;
    addrinfo* found = nullptr;
    int code = 0;
    const long rc = system_result([&] {
        code = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found);
        return code == EAI_SYSTEM ? -1 : 0;
    });
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, [](addrinfo* a) {
        if (a) ::freeaddrinfo(a);
    });
    if (rc < 0) return {{}, failure(rc)};
    if (code != 0) return {{}, {code, net::resolve_category()}};
    name_answer result;
    for (const addrinfo* a = found; a; a = a->ai_next) {
        socket_address address;
        std::memcpy(&address.storage, a->ai_addr, a->ai_addrlen);
        address.size = a->ai_addrlen;
        result.addresses.push_back(to_endpoint(address));
    }
    return result;
}

}  // namespace weft::detail

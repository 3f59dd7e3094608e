// resolver.hpp - looks host names up, and remembers the addresses for a while.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <weft/detail/export.hpp>
#include <weft/net/endpoint.hpp>

namespace weft::net {

struct resolver_options {
    /// How long addresses are remembered. The system does not tell for how long they are valid.
    std::chrono::nanoseconds life = std::chrono::seconds(30);
    /// How long it is remembered that the name service has no address. Zero: not at all.
    std::chrono::nanoseconds failure_life = std::chrono::seconds(1);
    /// How many names are remembered, at least 1; beyond that the one that would be forgotten next goes.
    std::size_t most = 1024;
    /// Looks a name up, instead of net::resolve(): another name service, or a test's. It runs on the fiber of
    /// one of the callers, may park, and throws what resolve() is to throw. Ports mean nothing.
    std::function<std::vector<endpoint>(const std::string& host)> look_up = {};
};

/// Host names and their addresses, shared by any number of fibers and threads:
///
///     weft::net::resolver names;
///     auto s = weft::tcp::stream::connect({.host = "example.org", .port = 80}, {.resolver = &names});
///
/// Callers that ask for a name at the same time share one look-up. An http::client has one of its own.
class WEFT_EXPORT resolver {
public:
    /// \throws  std::invalid_argument if `most` is zero, or a time is less than zero.
    explicit resolver(resolver_options options = {});
    /// No call may be under way. A look-up of the system whose callers have all left may be.
    ~resolver();
    resolver(const resolver&) = delete;
    resolver& operator=(const resolver&) = delete;

    /// \returns  what net::resolve() would return; for a name that is remembered, without a look-up. A host
    ///           that is a number, or empty, is never remembered.
    /// \parks    while the name is looked up. If interrupted, it returns; the system's look-up goes on for the
    ///           others that wait, and is remembered. One by options.look_up ends with its caller, and another
    ///           one that waits begins anew.
    /// \throws   what net::resolve() throws; what options.look_up throws.
    [[nodiscard]] std::vector<endpoint> resolve(std::string_view host, std::uint16_t port);
    [[nodiscard]] std::vector<endpoint> resolve(std::string_view host, std::uint16_t port, std::error_code& error);

    /// Looks the name up anew the next time. tcp::stream::connect() does this if none of the addresses can be
    /// connected to, or none is before a deadline.
    void forget(std::string_view host);
    void clear();

private:
    struct state;
    std::shared_ptr<state> state_;
};

}  // namespace weft::net

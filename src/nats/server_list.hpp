// server_list.hpp - the servers that a client may connect to: parsed from URLs, and learnt from INFO.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <weft/nats/client.hpp>
#include <weft/net/endpoint.hpp>

namespace weft::detail::nats {

struct server_url {
    net::endpoint at;
    std::string user, password, token;
    bool tls = false;

    /// \throws  std::invalid_argument, which does not repeat the password
    static server_url parse(std::string_view url);
    std::string name() const { return to_string(at); }
};

/// Belongs to the reader fiber.
class server_list {
public:
    /// \throws  std::invalid_argument
    explicit server_list(const std::vector<std::string>& urls);

    const server_url& current() const noexcept { return all_[at_]; }
    /// \returns  whether all have been tried since the beginning.
    bool advance() noexcept;
    /// Servers of a cluster, as host:port; they take the login of the first URL.
    void learn(const std::vector<std::string>& addresses);

private:
    static constexpr std::size_t most = 256;  // chosen: a server that lies must not use up the memory

    std::vector<server_url> all_;
    std::size_t at_ = 0;
};

/// \throws  weft::nats::error of protocol_error
weft::nats::server_info parse_info(std::string_view json, std::string& nonce, bool& tls_required);

std::string connect_line(const weft::nats::client_options&, const server_url&, std::string_view nonce, bool tls);

}  // namespace weft::detail::nats

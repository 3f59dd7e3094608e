// dialer.hpp - opens connections: to a server, or through a proxy, with TLS where the URL has it.
#pragma once

#include <weft/http/client.hpp>
#include <weft/io/byte_stream.hpp>
#include <weft/net/resolver.hpp>

#include "http/client/proxy.hpp"
#include "http/client/url.hpp"

namespace weft::detail {

class client_dialer {
public:
    explicit client_dialer(const http::client_options& o) : options_(o), proxies_(o.proxy) {}

    const proxy_choice& proxies() const noexcept { return proxies_; }

    /// `via` is the proxy for that URL, or null.
    ///
    /// \parks   at most for connect_timeout.
    /// \throws  client_failure; weft::cancelled; what client_options::connect throws, if it is no
    ///          std::system_error.
    io::byte_stream open(const http_url& to, const http_url* via) const;

private:
    io::byte_stream connect(const http_url& to, const http_url* via) const;
    io::byte_stream connect_to(const net::endpoint& at) const;
    void tunnel(io::byte_stream& through, const http_url& to, const http_url& via) const;

    const http::client_options& options_;
    proxy_choice proxies_;
    mutable net::resolver own_names_;
};

}  // namespace weft::detail

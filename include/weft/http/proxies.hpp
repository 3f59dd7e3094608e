// proxies.hpp - through which proxies an HTTP client reaches servers.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

#include <string>

namespace weft::http {

/// Proxies by the scheme of the URL that is asked for. A proxy is `http://[user:password@]host[:port]`, or
/// https:// for TLS to the proxy itself; the default port is 80 or 443. Requests to http:// servers are sent to it with
/// their whole URL, and https:// ones go through a tunnel (CONNECT), so that it cannot read them.
struct proxies {
    std::string http = {};   ///< for http:// URLs; empty: none
    std::string https = {};  ///< for https:// URLs; empty: none
    /// Servers that are reached directly, separated by commas: `example.org` is also each host below
    /// it, and so is `.example.org`; an address is meant literally; each may have a `:port`; `10.0.0.0/8`
    /// and `fd00::/8`, without brackets or port, are all addresses that begin with these bits; `*` is
    /// every server.
    std::string except = {};
};

/// What the variables http_proxy, https_proxy, all_proxy and no_proxy say, and those with capital letters
/// except HTTP_PROXY, which a client of a CGI program could set. A word of no_proxy with a '/' that is no
/// block of addresses is left out.
WEFT_EXPORT [[nodiscard]] proxies proxies_from_environment();

}  // namespace weft::http

// proxy.hpp - which proxy a request goes through.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <weft/http/proxies.hpp>

#include "http/client/address_block.hpp"
#include "http/client/url.hpp"

namespace weft::detail {

class proxy_choice {
public:
    /// \throws  std::invalid_argument naming the proxy whose URL is wrong.
    explicit proxy_choice(const http::proxies& p);

    /// \returns  the proxy for that URL; null: none.
    const http_url* of(const http_url& to) const noexcept;
    bool needs_tls() const noexcept { return (http_ && http_->tls) || (https_ && https_->tls); }

private:
    struct exception {
        std::string host;  // in lower case; empty: every one
        std::optional<std::uint16_t> port = {};
        std::optional<address_block> block = {};  // if there is one, `host` is empty
    };

    bool is_excepted(const http_url& to) const noexcept;

    std::optional<http_url> http_, https_;
    std::vector<exception> except_;
};

}  // namespace weft::detail

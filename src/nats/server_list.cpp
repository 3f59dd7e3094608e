// server_list.cpp - parses the URLs of servers and chooses among them.
#include "nats/server_list.hpp"

#include <algorithm>
#include <stdexcept>

namespace weft::detail::nats {

server_url server_url::parse(std::string_view url) {
    const auto refuse = [](const std::string& why) -> void { throw std::invalid_argument("nats: " + why); };
    server_url u;
    if (url.starts_with("tls://")) {
        u.tls = true;
        url.remove_prefix(6);
    } else if (url.starts_with("nats://")) {
        url.remove_prefix(7);
    } else if (url.find("://") != std::string_view::npos) {
        refuse("the URL of a server begins with nats:// or tls://");
    }
    if (const auto at = url.rfind('@'); at != std::string_view::npos) {
        const auto login = url.substr(0, at);
        url.remove_prefix(at + 1);
        const auto colon = login.find(':');
        if (colon == std::string_view::npos) {
            u.token = login;
        } else {
            u.user = login.substr(0, colon);
            u.password = login.substr(colon + 1);
        }
    }
    if (url.ends_with('/')) url.remove_suffix(1);
    if (url.empty()) refuse("the URL of a server has no host");
    const auto bracket = url.rfind(']');
    const bool has_port = url.find(':', bracket == std::string_view::npos ? 0 : bracket) != std::string_view::npos;
    u.at = net::endpoint::parse(has_port ? std::string(url) : std::string(url) + ":4222");
    if (u.at.host.empty() || u.at.port == 0) refuse("the URL of a server needs a host, and a port other than 0");
    return u;
}

server_list::server_list(const std::vector<std::string>& urls) {
    if (urls.empty()) throw std::invalid_argument("nats: client_options::servers is empty");
    for (const auto& u : urls) all_.push_back(server_url::parse(u));
}

bool server_list::advance() noexcept {
    at_ = (at_ + 1) % all_.size();
    return at_ == 0;
}

void server_list::learn(const std::vector<std::string>& addresses) {
    for (const auto& a : addresses) {
        if (all_.size() >= most) return;
        try {
            auto u = server_url::parse(a);
            if (std::ranges::find(all_, u.at, &server_url::at) != all_.end()) continue;
            u.user = all_.front().user;
            u.password = all_.front().password;
            u.token = all_.front().token;
            u.tls = all_.front().tls;
            all_.push_back(std::move(u));
        } catch (const std::invalid_argument&) {}  // a server may know addresses of kinds that this client does not
    }
}

}  // namespace weft::detail::nats

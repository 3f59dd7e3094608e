#include "tls/shared.hpp"

#include <algorithm>
#include <utility>

#include "tls/failure.hpp"

namespace weft::detail {
namespace {

/// Host names are compared without regard to case [RFC4343]; those that are asked for are ASCII.
std::string lower(std::string_view host) {
    std::string text(host);
    for (auto& c : text) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return text;
}

std::shared_ptr<const tls_side> placed(tls_side made) {
    auto side = std::make_shared<tls_side>(std::move(made));
    mark(*side);
    return side;
}

}  // namespace

tls_configuration::tls_configuration(const tls::context_options& o, std::shared_ptr<const tls_tickets> tickets, named names)
    : options_(o),
      tickets_(std::move(tickets)),
      sessions_(std::make_shared<tls_sessions>()),
      server_(placed(make_server_side(o, {}))),
      names_(std::move(names)) {
    if (!o.ca.empty()) static_cast<void>(client());  // so that what is wrong with it is said now
}

tls_configuration::tls_configuration(const tls_configuration& other, named names)
    : options_(other.options_),
      tickets_(other.tickets_),
      sessions_(other.sessions_),
      server_(other.server_),
      names_(std::move(names)) {}

const tls_side& tls_configuration::client() const {
    call_once(client_made_, [this] {
        client_ = make_client_side(options_);
        mark(client_);
    });
    return client_;
}

const tls_side* tls_configuration::server_of(std::string_view host) const {
    auto name = lower(host);
    if (name.ends_with('.')) name.pop_back();
    auto at = names_.find(name);
    const auto dot = name.find('.');
    if (at == names_.end() && dot != std::string::npos) at = names_.find("*" + name.substr(dot));
    return at == names_.end() ? nullptr : at->second.get();
}

tls_shared::tls_shared(const tls::context_options& o)
    : now_(std::make_shared<tls_configuration>(o, std::make_shared<const tls_tickets>(o.ticket_secret),
                                               tls_configuration::named())) {}

std::shared_ptr<const tls_configuration> tls_shared::now() const {
    const lock_guard guard(lock_);
    return now_;
}

void tls_shared::replace(std::shared_ptr<const tls_configuration> by) {
    const lock_guard guard(lock_);
    now_.swap(by);
}

void tls_shared::reload(const tls::context_options& o) {
    const lock_guard guard(changing_);
    const auto old = now();
    auto tickets = o.ticket_secret.empty() ? old->tickets() : std::make_shared<const tls_tickets>(o.ticket_secret);
    replace(std::make_shared<tls_configuration>(o, std::move(tickets), old->names()));
}

void tls_shared::by_name(std::string_view host, const tls::context_options& o) {
    if (host.empty() || host == "*" || host == "*.") throw_bad_option("by_name: \"" + std::string(host) + "\" is no host name");
    if (o.certificate_chain.empty()) throw_bad_option("by_name: certificate_chain is needed");
    const lock_guard guard(changing_);
    const auto old = now();
    auto names = old->names();
    auto name = lower(host);
    if (name.ends_with('.')) name.pop_back();
    names[name] = placed(make_server_side(o, host));
    replace(std::make_shared<tls_configuration>(*old, std::move(names)));
}

}  // namespace weft::detail

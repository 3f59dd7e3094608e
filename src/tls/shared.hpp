// shared.hpp - what a tls::context holds: options that can be replaced, and what stays.
//
// A connection takes the configuration of the moment and keeps it, and with it the certificates that its
// handshake uses; so reload() touches no connection.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include <weft/detail/annotated_locks.hpp>
#include <weft/once.hpp>
#include <weft/tls/context.hpp>

#include "base/futex_lock.hpp"
#include "tls/sessions.hpp"
#include "tls/side.hpp"
#include "tls/tickets.hpp"

namespace weft::detail {

/// It never changes, but for client(), which without authorities of its own is made when first asked for:
/// reading those of the system takes some 10 ms, and a server needs none.
class tls_configuration {
public:
    using named = std::map<std::string, std::shared_ptr<const tls_side>, std::less<>>;

    tls_configuration(const tls::context_options& o, std::shared_ptr<const tls_tickets> tickets, named names);
    /// As `other`, with other names.
    tls_configuration(const tls_configuration& other, named names);

    const tls_side& server() const noexcept { return *server_; }
    /// \throws  what tls::context::context() throws.
    const tls_side& client() const;
    /// That of a client which asks for `host`; null: server().
    const tls_side* server_of(std::string_view host) const;

    bool has_certificate() const noexcept { return server_->has_certificate || !names_.empty(); }
    const named& names() const noexcept { return names_; }
    const std::shared_ptr<const tls_tickets>& tickets() const noexcept { return tickets_; }
    /// Those that clients with these options have been given.
    tls_sessions& sessions() const noexcept { return *sessions_; }

private:
    tls::context_options options_;
    std::shared_ptr<const tls_tickets> tickets_;
    std::shared_ptr<tls_sessions> sessions_;
    std::shared_ptr<const tls_side> server_;
    named names_;  // in lower case; "*.example.org" stands for the hosts one level below
    mutable once_flag client_made_;
    mutable tls_side client_;
};

class tls_shared {
public:
    explicit tls_shared(const tls::context_options& o);

    std::shared_ptr<const tls_configuration> now() const;
    void reload(const tls::context_options& o);
    void by_name(std::string_view host, const tls::context_options& o);

private:
    void replace(std::shared_ptr<const tls_configuration> by);

    futex_lock changing_;  // held by whole calls of reload() and by_name()
    mutable futex_lock lock_;
    std::shared_ptr<const tls_configuration> now_ WEFT_GUARDED_BY(lock_);
};

}  // namespace weft::detail

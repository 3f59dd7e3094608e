// side.hpp - what OpenSSL needs to be a server or a client with given options.
#pragma once

#include <string>
#include <string_view>

#include <weft/tls/context.hpp>

#include "tls/ssl.hpp"

namespace weft::detail {

/// One certificate with its rules. It never changes, and stays as long as a connection uses it.
struct tls_side {
    ssl_context_ptr context;
    std::string alpn;  // the protocols, each with its length before it [RFC7301]
    int verify = SSL_VERIFY_NONE;
    bool has_certificate = false;
};

/// \throws  what tls::context::context() throws.
tls_side make_server_side(const tls::context_options& o, std::string_view host);
tls_side make_client_side(const tls::context_options& o);

// What OpenSSL calls for connections of a side; in handshake.cpp.

/// A client asks for a host: its certificate and rules take the place of the default, before OpenSSL looks at
/// versions and sessions.
int on_client_hello(SSL* ssl, int* alert, void*) noexcept;
/// Says that the name was understood.
int on_server_name(SSL* ssl, int* alert, void*) noexcept;
/// A ticket is made or opened. \returns what tls_tickets::set_keys() does.
int on_ticket(SSL* ssl, unsigned char* name, unsigned char* start, EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac, int makes) noexcept;
/// A server has given a client a session.
int on_new_session(SSL* ssl, SSL_SESSION* session) noexcept;

/// Lets tls_side_of() find the side, which must stay where it is.
void mark(tls_side& side);
const tls_side& tls_side_of(const SSL& ssl) noexcept;

}  // namespace weft::detail

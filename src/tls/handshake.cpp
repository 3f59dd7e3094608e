// handshake.cpp - begins a connection: what each side offers and asks for, and the handshake itself.
#include <openssl/err.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <mutex>
#include <new>
#include <stdexcept>
#include <utility>

#include <weft/tls/error.hpp>

#include "base/in_quotes.hpp"
#include "io/operation.hpp"
#include "tls/connection.hpp"
#include "tls/handshake_turn.hpp"
#include "tls/pem.hpp"

namespace weft::detail {
namespace {

/// Must succeed, or there is no memory.
void need(bool succeeded) {
    if (!succeeded) throw std::bad_alloc();
}

}  // namespace

/// What of a connection OpenSSL's calls need.
struct tls_callbacks {
    static tls_connection& connection(SSL* ssl) noexcept { return *static_cast<tls_connection*>(SSL_get_app_data(ssl)); }
    static tls_sessions& sessions(const tls_connection& c) noexcept { return c.shared_->sessions; }
    static const std::string& session_key(const tls_connection& c) noexcept { return c.session_key_; }
    static const tls_configuration& configuration(const tls_connection& c) noexcept { return *c.configuration_; }
};

int on_new_session(SSL* ssl, SSL_SESSION* session) noexcept {
    const auto& c = tls_callbacks::connection(ssl);
    const auto& key = tls_callbacks::session_key(c);
    if (key.empty() || !SSL_SESSION_is_resumable(session)) return 0;
    try {
        SSL_SESSION_up_ref(session);
        tls_callbacks::sessions(c).put(key, ssl_session_ptr(session));
    } catch (const std::bad_alloc&) {}  // it is not kept
    return 0;
}

int on_server_name(SSL* ssl, int* /*alert*/, void* /*none*/) noexcept try {
    const char* const host = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
    if (!host) return SSL_TLSEXT_ERR_NOACK;
    const auto* const side = tls_callbacks::configuration(tls_callbacks::connection(ssl)).server_of(host);
    if (!side) return SSL_TLSEXT_ERR_NOACK;
    SSL_set_SSL_CTX(ssl, side->context.get());
    SSL_set_verify(ssl, side->verify, nullptr);
    return SSL_TLSEXT_ERR_OK;
} catch (const std::bad_alloc&) {
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}

tls_connection::tls_connection(io::byte_stream below, std::shared_ptr<tls_shared> shared, tls_role role,
                               const tls::connect_options& options)
    : below_(std::move(below)),
      shared_(std::move(shared)),
      configuration_(shared_->now()),
      wire_(below_, lock_) {
    if (role == tls_role::server && !configuration_->has_certificate())
        throw std::system_error(make_error_code(tls::errc::no_certificate_here), "weft: TLS");
    const auto& side = role == tls_role::server ? configuration_->server() : configuration_->client();
    ERR_clear_error();
    ssl_.reset(SSL_new(side.context.get()));
    need(ssl_ != nullptr);
    SSL_set_app_data(ssl_.get(), this);
    auto* const bio = wire_.make_bio().release();
    SSL_set_bio(ssl_.get(), bio, bio);
    if (role == tls_role::server)
        SSL_set_accept_state(ssl_.get());
    else
        begin_client(side, options);
}

void tls_connection::begin_client(const tls_side& side, const tls::connect_options& options) {
    const auto& name = options.server_name;
    const bool checks = side.verify != SSL_VERIFY_NONE;
    if (name.empty() && checks)
        throw std::invalid_argument("weft: tls::connect_options::server_name is empty, so no certificate can be right");
    if (name.find('\0') != std::string::npos || name.size() > TLSEXT_MAXLEN_host_name)
        throw std::invalid_argument("weft: tls::connect_options::server_name is no host name: " + in_quotes(name));
    auto& ssl = *ssl_;
    if (is_address(name)) {
        if (checks) need(X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(&ssl), name.c_str()) == 1);
    } else if (!name.empty()) {
        need(SSL_set_tlsext_host_name(&ssl, name.c_str()) == 1);
        SSL_set_hostflags(&ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
        if (checks) need(SSL_set1_host(&ssl, name.c_str()) == 1);
    }
    SSL_set_connect_state(&ssl);
    if (!options.resume || name.empty()) return;
    session_key_ = name + '\n' + side.alpn;
    if (const auto session = shared_->sessions.take(session_key_)) SSL_set_session(&ssl, session.get());
}

/// One step computes up to where the peer has to say something.
tls_connection::outcome tls_connection::handshake_step(tls_failure& why) {
    const std::lock_guard guard(lock_);
    return call([this] { return SSL_do_handshake(ssl_.get()); }, why);
}

void tls_connection::handshake() {
    constexpr const char* what = "weft: TLS handshake";
    std::error_code error;
    // The first step of a server has nothing to read, that of a client computes little.
    tls_failure why;
    for (auto o = handshake_step(why); o != outcome::done;) {
        if (has_backlog()) {
            const std::lock_guard guard(turn_);
            wire_.send_backlog(error);
        }
        if (o == outcome::failed || o == outcome::ended) {
            if (o == outcome::ended) why.code = tls::errc::truncated;
            throw_io_error(why.code, why.words.empty() ? what : (std::string(what) + ": " + why.words).c_str());
        }
        if (!error) wire_.attempts().wait_readable(error);
        if (error) throw_io_error(error, what);
        const handshake_turn turn;
        o = handshake_step(why);
    }
    if (!has_backlog()) return;
    const std::lock_guard guard(turn_);
    wire_.send_backlog(error);
    if (error) throw_io_error(error, what);
}

}  // namespace weft::detail

// handshake.cpp - begins a connection: what each side offers and asks for, and the handshake itself.
#include <openssl/err.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <mutex>
#include <new>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <weft/tls/error.hpp>

#include "base/in_quotes.hpp"
#include "fiber/interrupts.hpp"
#include "io/operation.hpp"
#include "tls/connection.hpp"
#include "tls/handshake_turn.hpp"
#include "tls/pem.hpp"
#include "tls/turn.hpp"

namespace weft::detail {
namespace {

/// Must succeed, or there is no memory.
void need(bool succeeded) {
    if (!succeeded) throw std::bad_alloc();
}

}  // namespace

namespace {

tls_connection& connection_of(SSL* ssl) noexcept { return *static_cast<tls_connection*>(SSL_get_app_data(ssl)); }

/// The host name in a ClientHello [RFC6066, 3]; empty: none.
std::string_view host_in_hello(SSL* ssl) noexcept {
    const unsigned char* bytes = nullptr;
    std::size_t size = 0;
    if (SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_server_name, &bytes, &size) != 1) return {};
    constexpr std::size_t before = 5;  // the length of the list, the type, the length of the name
    if (size < before || bytes[2] != TLSEXT_NAMETYPE_host_name) return {};
    const std::size_t length = std::size_t{bytes[3]} << 8 | bytes[4];
    if (length > size - before) return {};  // OpenSSL refuses it
    return {reinterpret_cast<const char*>(bytes + before), length};
}

}  // namespace

int on_new_session(SSL* ssl, SSL_SESSION* session) noexcept {
    const auto& c = connection_of(ssl);
    if (c.session_key().empty() || !SSL_SESSION_is_resumable(session)) return 0;
    try {
        SSL_SESSION_up_ref(session);
        c.configuration().sessions().put(c.session_key(), ssl_session_ptr(session));
    } catch (const std::bad_alloc&) {}  // it is not kept
    return 0;
}

int on_client_hello(SSL* ssl, int* alert, void* /*none*/) noexcept try {
    auto& c = connection_of(ssl);
    const auto* const side = c.configuration().server_of(host_in_hello(ssl));
    *alert = SSL_AD_ILLEGAL_PARAMETER;
    if (!c.choose(side)) return SSL_CLIENT_HELLO_ERROR;  // after a HelloRetryRequest it asks for another host
    if (!side) return SSL_CLIENT_HELLO_SUCCESS;
    *alert = SSL_AD_INTERNAL_ERROR;
    if (!SSL_set_SSL_CTX(ssl, side->context.get())) return SSL_CLIENT_HELLO_ERROR;  // with it the place of sessions
    SSL_set_verify(ssl, side->verify, nullptr);
    const bool set = SSL_set_min_proto_version(ssl, SSL_CTX_get_min_proto_version(side->context.get())) == 1;
    return set ? SSL_CLIENT_HELLO_SUCCESS : SSL_CLIENT_HELLO_ERROR;
} catch (const std::bad_alloc&) {
    *alert = SSL_AD_INTERNAL_ERROR;
    return SSL_CLIENT_HELLO_ERROR;
}

int on_server_name(SSL* ssl, int* /*alert*/, void* /*none*/) noexcept {
    return SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name) ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

int on_ticket(SSL* ssl, unsigned char* name, unsigned char* start, EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac, int makes) noexcept {
    return connection_of(ssl).configuration().tickets()->set_keys(name, start, cipher, mac, makes == 1);
}

tls_connection::tls_connection(io::byte_stream below, const tls_shared& shared, tls_role role,
                               const tls::connect_options& options)
    : below_(std::move(below)), configuration_(shared.now()), wire_(below_, lock_) {
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
    auto name = options.server_name;
    const bool checks = side.verify != SSL_VERIFY_NONE;
    if (name.empty() && checks)
        throw std::invalid_argument("weft: tls::connect_options::server_name is empty, so no certificate can be right");
    // To OpenSSL a dot at the beginning means all hosts below. One at the end says that the name is whole.
    if (name.find('\0') != std::string::npos || name.size() > TLSEXT_MAXLEN_host_name || name.starts_with('.'))
        throw std::invalid_argument("weft: tls::connect_options::server_name is no host name: " + in_quotes(name));
    if (name.ends_with('.')) name.pop_back();
    auto& ssl = *ssl_;
    if (is_address(name)) {
        if (checks) need(X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(&ssl), name.c_str()) == 1);
    } else if (!name.empty()) {
        need(SSL_set_tlsext_host_name(&ssl, name.c_str()) == 1);
        SSL_set_hostflags(&ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
        if (checks) need(SSL_set1_host(&ssl, name.c_str()) == 1);
    }
    SSL_set_connect_state(&ssl);
    if (!options.resume || name.empty()) return;
    session_key_ = name + '\n' + side.alpn;
    if (const auto session = configuration_->sessions().take(session_key_)) SSL_set_session(&ssl, session.get());
}

/// One step computes up to where the peer has to say something.
tls_connection::outcome tls_connection::handshake_step(tls_failure& why, left_over& left) {
    const handshake_turn place;
    const std::lock_guard guard(lock_);
    const auto o = call(
        half::receive, [this] { return SSL_do_handshake(ssl_.get()); }, why);
    left = after_call();
    return o;
}

void tls_connection::handshake() {
    constexpr const char* what = "weft: TLS handshake";
    for (;;) {
        tls_failure why;
        left_over left;
        const auto o = handshake_step(why, left);
        std::error_code error;
        if (left.has_backlog) {
            const turn mine(*this);
            wire_.send_backlog(error);
        }
        if (o == outcome::ended) why.code = tls::errc::truncated;
        if (why.code) throw_io_error(why.code, why.words.empty() ? what : (std::string(what) + ": " + why.words).c_str());
        // A client that has its answer, or wants none, may leave before it has the tickets. The next operation meets
        // the failure, if it is of any interest.
        if (o == outcome::done && !(error && pending_interrupt())) return;
        left.is_full = left.has_backlog = false;
        if (!error) wait_for_bytes(left, error);
        if (error) throw_io_error(error, what);
    }
}

}  // namespace weft::detail

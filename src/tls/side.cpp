#include "tls/side.hpp"

#include <openssl/err.h>
#include <openssl/evp.h>

#include <array>
#include <new>
#include <stdexcept>
#include <vector>

#include "tls/failure.hpp"
#include "tls/pem.hpp"

namespace weft::detail {
namespace {

using tls::context_options;
using tls::peer_check;

void check(bool succeeded, const char* what) {
    if (!succeeded) throw_bad_option(std::string(what) + ": " + take_openssl_words());
}

std::string alpn_list(const std::vector<std::string>& protocols) {
    std::string list;
    for (const auto& p : protocols) {
        if (p.empty() || p.size() > 255)
            throw_bad_option("alpn has a name of " + std::to_string(p.size()) + " bytes; it must have 1 to 255");
        list += static_cast<char>(p.size());
        list += p;
    }
    return list;
}

void use_certificate(SSL_CTX& c, const context_options& o) {
    if (o.certificate_chain.empty() != o.private_key.empty())
        throw_bad_option(o.private_key.empty() ? "certificate_chain is given, and private_key is not"
                                               : "private_key is given, and certificate_chain is not");
    if (o.certificate_chain.empty()) return;
    auto chain = read_chain("certificate_chain", pem_text("certificate_chain", o.certificate_chain));
    const auto key = read_key("private_key", pem_text("private_key", o.private_key), o.private_key_password);
    ERR_clear_error();
    check(SSL_CTX_use_certificate(&c, chain.front().get()) == 1, "certificate_chain is not good");
    for (std::size_t i = 1; i < chain.size(); ++i)
        check(SSL_CTX_add1_chain_cert(&c, chain[i].get()) == 1, "certificate_chain is not good");
    if (SSL_CTX_use_PrivateKey(&c, key.get()) != 1) {
        ERR_clear_error();
        throw_bad_option("private_key is not that of the first certificate in certificate_chain");
    }
}

/// \returns  the text of the authorities, or "" for those of the system.
std::string use_authorities(SSL_CTX& c, const context_options& o, bool asks_by_name) {
    if (o.ca.empty()) {
        check(SSL_CTX_set_default_verify_paths(&c) == 1, "the system's authorities cannot be read");
        return {};
    }
    auto text = pem_text("ca", o.ca);
    const auto trusted = read_trusted("ca", text);
    auto& store = *SSL_CTX_get_cert_store(&c);
    for (const auto& one : trusted.authorities) {
        check(X509_STORE_add_cert(&store, one.get()) == 1, "ca is not good");
        if (asks_by_name) check(SSL_CTX_add_client_CA(&c, one.get()) == 1, "ca is not good");
    }
    for (const auto& one : trusted.revocations) check(X509_STORE_add_crl(&store, one.get()) == 1, "ca is not good");
    if (!trusted.revocations.empty()) X509_STORE_set_flags(&store, X509_V_FLAG_CRL_CHECK);
    return text;
}

ssl_context_ptr make_context(const context_options& o) {
    ERR_clear_error();
    ssl_context_ptr c(SSL_CTX_new(TLS_method()));
    if (!c) throw std::bad_alloc();
    check(SSL_CTX_set_min_proto_version(c.get(), o.least == tls::version::tls1_3 ? TLS1_3_VERSION : TLS1_2_VERSION) == 1,
          "least");
    if (SSL_CTX_set_cipher_list(c.get(), o.ciphers.c_str()) != 1)
        throw_bad_option("ciphers is \"" + o.ciphers + "\", which names no cipher suite of TLS 1.2: " + take_openssl_words());
    // Not the finite fields of RFC 7919: at a client's wish OpenSSL computes with one of 8192 bits, many times as long as
    // the rest of the handshake.
    check(SSL_CTX_set1_groups_list(c.get(), "X25519:P-256:P-384:P-521") == 1, "the groups of the key exchange");
    SSL_CTX_set_options(
        c.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_PRIORITIZE_CHACHA | SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_mode(c.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_read_ahead(c.get(), 1);
    if (o.session_life < std::chrono::seconds::zero())
        throw_bad_option("session_life is " + std::to_string(o.session_life.count()) + " s; it must not be negative");
    SSL_CTX_set_timeout(c.get(), static_cast<long>(o.session_life.count()));
    return c;
}

/// A session is resumed only where the client would be checked in the same way.
void set_session_place(SSL_CTX& c, std::string_view host, const std::string& authorities, int verify) {
    const std::string place = std::string(host) + '\n' + std::to_string(verify) + '\n' + authorities;
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
    unsigned size = 0;
    check(EVP_Digest(place.data(), place.size(), digest.data(), &size, EVP_sha256(), nullptr) == 1, "sessions");
    check(SSL_CTX_set_session_id_context(&c, digest.data(), size) == 1, "sessions");
}

int choose_protocol(SSL* ssl, const unsigned char** chosen, unsigned char* size, const unsigned char* offered,
                    unsigned offered_size, void* /*none*/) {
    const auto& own = tls_side_of(*ssl).alpn;
    auto* out = const_cast<unsigned char*>(*chosen);
    const int how = SSL_select_next_proto(&out, size, reinterpret_cast<const unsigned char*>(own.data()),
                                          static_cast<unsigned>(own.size()), offered, offered_size);
    *chosen = out;
    return how == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

int of_server(peer_check c) noexcept {
    switch (c) {
        case peer_check::by_role:
        case peer_check::none: return SSL_VERIFY_NONE;
        case peer_check::optional: return SSL_VERIFY_PEER;
        case peer_check::required: return SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
    }
    return SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
}

}  // namespace

tls_side make_server_side(const context_options& o, std::string_view host) {
    tls_side s{.context = make_context(o),
               .alpn = alpn_list(o.alpn),
               .verify = of_server(o.verify),
               .has_certificate = !o.certificate_chain.empty()};
    auto& c = *s.context;
    use_certificate(c, o);
    std::string authorities;
    if (s.verify != SSL_VERIFY_NONE) {
        // Of the system's authorities anyone gets a certificate.
        if (o.ca.empty()) throw_bad_option("ca is empty: a server that checks clients must say which authority signs them");
        authorities = use_authorities(c, o, true);
    }
    SSL_CTX_set_verify(&c, s.verify, nullptr);
    set_session_place(c, host, authorities, s.verify);
    SSL_CTX_set_client_hello_cb(&c, on_client_hello, nullptr);
    SSL_CTX_set_tlsext_servername_callback(&c, on_server_name);
    SSL_CTX_set_session_cache_mode(&c, SSL_SESS_CACHE_OFF);  // tickets only: what clients keep
    if (o.session_life == std::chrono::seconds::zero()) {
        SSL_CTX_set_options(&c, SSL_OP_NO_TICKET);
        SSL_CTX_set_num_tickets(&c, 0);
    } else {
        SSL_CTX_set_tlsext_ticket_key_evp_cb(&c, on_ticket);
    }
    if (!s.alpn.empty()) SSL_CTX_set_alpn_select_cb(&c, choose_protocol, nullptr);
    return s;
}

tls_side make_client_side(const context_options& o) {
    tls_side s{.context = make_context(o),
               .alpn = alpn_list(o.alpn),
               .verify = o.verify == peer_check::none ? SSL_VERIFY_NONE : SSL_VERIFY_PEER,
               .has_certificate = !o.certificate_chain.empty()};
    auto& c = *s.context;
    use_certificate(c, o);
    if (s.verify != SSL_VERIFY_NONE) use_authorities(c, o, false);
    SSL_CTX_set_verify(&c, s.verify, nullptr);
    if (o.session_life == std::chrono::seconds::zero())
        SSL_CTX_set_session_cache_mode(&c, SSL_SESS_CACHE_OFF);
    else
        SSL_CTX_set_session_cache_mode(&c, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(&c, on_new_session);
    if (!s.alpn.empty())
        check(SSL_CTX_set_alpn_protos(&c, reinterpret_cast<const unsigned char*>(s.alpn.data()),
                                      static_cast<unsigned>(s.alpn.size())) == 0,
              "alpn");
    return s;
}

void mark(tls_side& side) { SSL_CTX_set_app_data(side.context.get(), &side); }

const tls_side& tls_side_of(const SSL& ssl) noexcept {
    return *static_cast<const tls_side*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(&ssl)));
}

}  // namespace weft::detail

#include "cluster/certificates.hpp"

#include <arpa/inet.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <chrono>
#include <cstdint>
#include <stdexcept>

#include "tls/pem.hpp"
#include "tls/ssl.hpp"

namespace cluster {
namespace {

using weft::detail::key_ptr;
using weft::detail::x509_ptr;

void need(bool succeeded) {
    if (!succeeded) throw std::runtime_error("cluster: OpenSSL cannot make a certificate");
}

std::string text_of(const X509& c) {
    return weft::detail::text_of([&](BIO* into) { need(PEM_write_bio_X509(into, const_cast<X509*>(&c)) == 1); });
}
std::string text_of(const EVP_PKEY& k) {
    return weft::detail::text_of([&](BIO* into) {
        need(PEM_write_bio_PKCS8PrivateKey(into, const_cast<EVP_PKEY*>(&k), nullptr, nullptr, 0, nullptr, nullptr) == 1);
    });
}

std::string alternatives(const std::vector<std::string>& hosts) {
    std::string text;
    for (const auto& h : hosts) {
        // They would end the name in the text that OpenSSL reads.
        if (h.empty() || h.find_first_of(std::string_view(", \0\n\"", 5)) != std::string::npos)
            throw std::invalid_argument("cluster: no name or address of a host: '" + h + "'");
        unsigned char bytes[16];
        const bool is_address = ::inet_pton(AF_INET, h.c_str(), bytes) == 1 || ::inet_pton(AF_INET6, h.c_str(), bytes) == 1;
        text += (text.empty() ? "" : ",") + std::string(is_address ? "IP:" : "DNS:") + h;
    }
    return text;
}

void extend(X509& c, X509& issuer, int kind, const std::string& value) {
    X509V3_CTX with;
    X509V3_set_ctx_nodb(&with);
    X509V3_set_ctx(&with, &issuer, &c, nullptr, nullptr, 0);
    const std::unique_ptr<X509_EXTENSION, weft::detail::freed_by<X509_EXTENSION_free>> e(
        X509V3_EXT_conf_nid(nullptr, &with, kind, value.c_str()));
    need(e && X509_add_ext(&c, e.get(), -1) == 1);
}

/// A certificate without extensions and signature.
x509_ptr begin(const char* kind, const std::string& name, int days, EVP_PKEY& key) {
    x509_ptr c(X509_new());
    need(c && X509_set_version(c.get(), X509_VERSION_3) == 1);
    std::uint64_t serial = 0;
    need(RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial) == 1);
    ASN1_INTEGER_set_uint64(X509_get_serialNumber(c.get()), serial >> 1);
    constexpr std::chrono::seconds past = std::chrono::hours(1);  // clocks differ a little
    X509_gmtime_adj(X509_getm_notBefore(c.get()), -past.count());
    X509_time_adj_ex(X509_getm_notAfter(c.get()), days, 0, nullptr);
    const auto* const bytes = reinterpret_cast<const unsigned char*>(name.c_str());
    need(X509_NAME_add_entry_by_txt(X509_get_subject_name(c.get()), kind, MBSTRING_UTF8, bytes, -1, -1, 0) == 1);
    need(X509_set_pubkey(c.get(), &key) == 1);
    return c;
}

}  // namespace

struct authority::state {
    key_ptr key;
    x509_ptr certificate;
    issued pem;
};

authority::authority(const std::string& name, int days) : state_(std::make_unique<state>()) {
    state_->key.reset(EVP_EC_gen("P-256"));
    need(state_->key != nullptr);
    state_->certificate = begin("CN", name, days, *state_->key);
    auto& c = *state_->certificate;
    need(X509_set_issuer_name(&c, X509_get_subject_name(&c)) == 1);
    extend(c, c, NID_basic_constraints, "critical,CA:TRUE,pathlen:0");
    extend(c, c, NID_key_usage, "critical,keyCertSign,cRLSign");
    extend(c, c, NID_subject_key_identifier, "hash");
    need(X509_sign(&c, state_->key.get(), EVP_sha256()) != 0);
    state_->pem = {text_of(c), text_of(*state_->key)};
}

authority::~authority() = default;

const issued& authority::pem() const { return state_->pem; }

issued authority::issue(const certificate_wish& wish) const {
    const key_ptr key(EVP_EC_gen("P-256"));
    need(key != nullptr);
    auto& issuer = *state_->certificate;
    const auto c = begin(wish.hosts.empty() ? "OU" : "CN", wish.name, wish.days, *key);
    need(X509_set_issuer_name(c.get(), X509_get_subject_name(&issuer)) == 1);
    extend(*c, issuer, NID_basic_constraints, "critical,CA:FALSE");
    extend(*c, issuer, NID_key_usage, "critical,digitalSignature");
    extend(*c, issuer, NID_ext_key_usage, wish.hosts.empty() ? "clientAuth" : "serverAuth,clientAuth");
    extend(*c, issuer, NID_authority_key_identifier, "keyid");
    if (!wish.hosts.empty()) extend(*c, issuer, NID_subject_alt_name, alternatives(wish.hosts));
    need(X509_sign(c.get(), state_->key.get(), EVP_sha256()) != 0);
    return {text_of(*c), text_of(*key)};
}

}  // namespace cluster

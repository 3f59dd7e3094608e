#include "tls/support/certificates.hpp"

#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

#include <atomic>
#include <stdexcept>

#include "tls/pem.hpp"

namespace weft::test {
namespace {

using detail::bio_ptr;
using detail::freed_by;
using detail::key_ptr;
using detail::x509_ptr;

void need(bool succeeded) {
    if (!succeeded) throw std::runtime_error("OpenSSL has failed to make a certificate");
}

key_ptr key_in(const std::string& pem) {
    const bio_ptr b(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
    key_ptr k(PEM_read_bio_PrivateKey(b.get(), nullptr, nullptr, nullptr));
    need(k != nullptr);
    return k;
}
x509_ptr certificate_in(const std::string& pem) {
    const bio_ptr b(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
    x509_ptr c(PEM_read_bio_X509(b.get(), nullptr, nullptr, nullptr));
    need(c != nullptr);
    return c;
}

key_ptr new_key(bool rsa) {
    key_ptr k(rsa ? EVP_RSA_gen(2048) : EVP_EC_gen("P-256"));
    need(k != nullptr);
    return k;
}

void extend(X509& c, X509& issuer, int kind, const std::string& value) {
    X509V3_CTX with;
    X509V3_set_ctx_nodb(&with);
    X509V3_set_ctx(&with, &issuer, &c, nullptr, nullptr, 0);
    const std::unique_ptr<X509_EXTENSION, freed_by<X509_EXTENSION_free>> e(
        X509V3_EXT_conf_nid(nullptr, &with, kind, value.c_str()));
    need(e && X509_add_ext(&c, e.get(), -1) == 1);
}

std::string alternative_names(const std::vector<std::string>& names) {
    std::string text;
    for (const auto& n : names) {
        text += (text.empty() ? "" : ",") + std::string(detail::is_address(n) ? "IP:" : "DNS:") + n;
    }
    return text;
}

x509_ptr unsigned_certificate(const certificate_request& q, const key_ptr& key) {
    static std::atomic<long> serial{1};
    x509_ptr c(X509_new());
    need(c && X509_set_version(c.get(), 2) == 1);
    ASN1_INTEGER_set(X509_get_serialNumber(c.get()), serial++);
    X509_gmtime_adj(X509_getm_notBefore(c.get()), std::chrono::seconds(q.begins).count());
    X509_gmtime_adj(X509_getm_notAfter(c.get()), std::chrono::seconds(q.ends).count());
    need(X509_set_pubkey(c.get(), key.get()) == 1);
    auto* const name = X509_get_subject_name(c.get());
    need(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(q.common_name.c_str()), -1,
                                    -1, 0) == 1);
    return c;
}

void sign(X509& c, X509& issuer, const key_ptr& by) {
    need(X509_set_issuer_name(&c, X509_get_subject_name(&issuer)) == 1);
    need(X509_sign(&c, by.get(), EVP_sha256()) != 0);
}

}  // namespace

authority::authority(const std::string& name) {
    const auto key = new_key(false);
    const auto c = unsigned_certificate({.common_name = name}, key);
    extend(*c, *c, NID_basic_constraints, "critical,CA:TRUE");
    extend(*c, *c, NID_key_usage, "critical,keyCertSign,cRLSign");
    extend(*c, *c, NID_subject_key_identifier, "hash");
    sign(*c, *c, key);
    own_ = {detail::pem_of(*c), detail::pem_of(*key)};
}

identity authority::issue(const certificate_request& q) const {
    const auto issuer = certificate_in(own_.certificate);
    const auto key = new_key(q.rsa);
    const auto c = unsigned_certificate(q, key);
    if (!q.names.empty()) extend(*c, *issuer, NID_subject_alt_name, alternative_names(q.names));
    sign(*c, *issuer, key_in(own_.key));
    return {detail::pem_of(*c), detail::pem_of(*key)};
}

std::string authority::revoke(const std::string& certificate) const {
    const auto issuer = certificate_in(own_.certificate);
    const auto gone = certificate_in(certificate);
    const std::unique_ptr<X509_CRL, freed_by<X509_CRL_free>> list(X509_CRL_new());
    need(list && X509_CRL_set_version(list.get(), 1) == 1);
    need(X509_CRL_set_issuer_name(list.get(), X509_get_subject_name(issuer.get())) == 1);
    const std::unique_ptr<ASN1_TIME, freed_by<ASN1_TIME_free>> now(X509_gmtime_adj(nullptr, -60)),
        later(X509_gmtime_adj(nullptr, 3600));
    need(X509_CRL_set1_lastUpdate(list.get(), now.get()) == 1 && X509_CRL_set1_nextUpdate(list.get(), later.get()) == 1);
    auto* const entry = X509_REVOKED_new();
    need(X509_REVOKED_set_serialNumber(entry, X509_get_serialNumber(gone.get())) == 1);
    need(X509_REVOKED_set_revocationDate(entry, now.get()) == 1);
    need(X509_CRL_add0_revoked(list.get(), entry) == 1);
    need(X509_CRL_sign(list.get(), key_in(own_.key).get(), EVP_sha256()) != 0);
    return detail::text_of([&](BIO* b) { return PEM_write_bio_X509_CRL(b, list.get()); });
}

identity self_signed(const certificate_request& q) {
    const auto key = new_key(q.rsa);
    const auto c = unsigned_certificate(q, key);
    if (!q.names.empty()) extend(*c, *c, NID_subject_alt_name, alternative_names(q.names));
    sign(*c, *c, key);
    return {detail::pem_of(*c), detail::pem_of(*key)};
}

}  // namespace weft::test

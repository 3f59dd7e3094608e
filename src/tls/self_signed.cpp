// self_signed.cpp - makes a key and the certificate that it signs itself [RFC5280].
#include <weft/tls/self_signed.hpp>

#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <chrono>
#include <cstdint>
#include <new>
#include <stdexcept>

#include "base/in_quotes.hpp"
#include "tls/pem.hpp"
#include "tls/ssl.hpp"

namespace weft::tls {
namespace {

using detail::freed_by;

void need(bool succeeded) {
    if (!succeeded) throw std::bad_alloc();
}

/// The value of the extension for alternative names.
std::string alternatives(const std::vector<std::string>& names) {
    std::string text;
    for (const auto& n : names) {
        // They would end the name in the text that OpenSSL reads.
        if (n.empty() || n.find_first_of(std::string_view(", \0\n\"", 5)) != std::string::npos)
            throw std::invalid_argument("weft: tls::self_signed: no name or address of a host: " + detail::in_quotes(n));
        text += text.empty() ? "" : ",";
        text += detail::is_address(n) ? "IP:" : "DNS:";
        text += n;
    }
    if (text.empty()) throw std::invalid_argument("weft: tls::self_signed: at least one name is needed");
    return text;
}

void extend(X509& c, int kind, const std::string& value) {
    X509V3_CTX with;
    X509V3_set_ctx_nodb(&with);
    X509V3_set_ctx(&with, &c, &c, nullptr, nullptr, 0);
    const std::unique_ptr<X509_EXTENSION, freed_by<X509_EXTENSION_free>> e(
        X509V3_EXT_conf_nid(nullptr, &with, kind, value.c_str()));
    need(e && X509_add_ext(&c, e.get(), -1) == 1);
}

}  // namespace

key_pair self_signed(const std::vector<std::string>& names) {
    const auto alternative_names = alternatives(names);
    ERR_clear_error();
    const detail::key_ptr key(EVP_EC_gen("P-256"));
    const detail::x509_ptr c(X509_new());
    need(key && c && X509_set_version(c.get(), X509_VERSION_3) == 1);
    std::uint32_t serial = 0;
    need(RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial) == 1);
    ASN1_INTEGER_set_uint64(X509_get_serialNumber(c.get()), serial);
    constexpr std::chrono::seconds past = std::chrono::hours(1), life = std::chrono::days(30);  // clocks differ a little
    X509_gmtime_adj(X509_getm_notBefore(c.get()), -past.count());
    X509_gmtime_adj(X509_getm_notAfter(c.get()), life.count());
    auto* const name = X509_get_subject_name(c.get());
    const auto* const common_name = reinterpret_cast<const unsigned char*>("weft self-signed");
    need(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, common_name, -1, -1, 0) == 1);
    need(X509_set_issuer_name(c.get(), name) == 1 && X509_set_pubkey(c.get(), key.get()) == 1);
    extend(*c, NID_subject_alt_name, alternative_names);
    need(X509_sign(c.get(), key.get(), EVP_sha256()) != 0);
    return {detail::pem_of(*c), detail::pem_of(*key)};
}

}  // namespace weft::tls

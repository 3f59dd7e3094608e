// certificate.cpp - makes plain values of OpenSSL's certificates.
#include "tls/certificate.hpp"

#include <openssl/bn.h>
#include <openssl/x509v3.h>

#include <arpa/inet.h>

#include <array>
#include <ctime>
#include <span>
#include <string_view>

#include "tls/pem.hpp"

namespace weft::detail {
namespace {

std::string name_text(const X509_NAME* name) {
    return text_of([&](BIO* b) { X509_NAME_print_ex(b, name, 0, XN_FLAG_RFC2253); });
}

std::string hexadecimal(std::span<const unsigned char> bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const auto b : bytes) {
        text += digits[b >> 4];
        text += digits[b & 15];
    }
    return text;
}

std::chrono::system_clock::time_point time_of(const ASN1_TIME* t) {
    std::tm parts{};
    if (ASN1_TIME_to_tm(t, &parts) != 1) return {};
    return std::chrono::system_clock::from_time_t(::timegm(&parts));
}

std::string text_of(const GENERAL_NAME& name) {
    const auto bytes_of = [](const ASN1_STRING* s) {
        return std::span(ASN1_STRING_get0_data(s), static_cast<std::size_t>(ASN1_STRING_length(s)));
    };
    std::array<char, INET6_ADDRSTRLEN> text{};
    switch (name.type) {
        case GEN_DNS:
        case GEN_EMAIL:
        case GEN_URI: {
            const auto b = bytes_of(name.d.ia5);
            return std::string(b.begin(), b.end());
        }
        case GEN_IPADD: {
            const auto b = bytes_of(name.d.iPAddress);
            const int family = b.size() == 4 ? AF_INET : b.size() == 16 ? AF_INET6 : 0;
            return family && ::inet_ntop(family, b.data(), text.data(), text.size()) ? text.data() : std::string();
        }
        default: return {};
    }
}

std::vector<std::string> names_of(const X509& c) {
    const std::unique_ptr<GENERAL_NAMES, freed_by<GENERAL_NAMES_free>> all(
        static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(&c, NID_subject_alt_name, nullptr, nullptr)));
    std::vector<std::string> texts;
    for (int i = 0; all && i < sk_GENERAL_NAME_num(all.get()); ++i) {
        if (auto text = text_of(*sk_GENERAL_NAME_value(all.get(), i)); !text.empty()) texts.push_back(std::move(text));
    }
    return texts;
}

std::string serial_of(const X509& c) {
    const std::unique_ptr<BIGNUM, freed_by<BN_free>> number(ASN1_INTEGER_to_BN(X509_get0_serialNumber(&c), nullptr));
    if (!number) return {};
    std::vector<unsigned char> bytes(static_cast<std::size_t>(BN_num_bytes(number.get())));
    BN_bn2bin(number.get(), bytes.data());
    return hexadecimal(bytes);
}

std::string fingerprint_of(const X509& c) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
    unsigned size = 0;
    if (X509_digest(&c, EVP_sha256(), digest.data(), &size) != 1) return {};
    return hexadecimal(std::span(digest).first(size));
}

}  // namespace

tls::certificate values_of(const X509& c) {
    return {.subject = name_text(X509_get_subject_name(&c)),
            .issuer = name_text(X509_get_issuer_name(&c)),
            .names = names_of(c),
            .serial = serial_of(c),
            .not_before = time_of(X509_get0_notBefore(&c)),
            .not_after = time_of(X509_get0_notAfter(&c)),
            .sha256 = fingerprint_of(c),
            .pem = pem_of(c)};
}

}  // namespace weft::detail

#include "tls/pem.hpp"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <new>
#include <system_error>
#include <utility>

#include "tls/failure.hpp"

namespace weft::detail {
namespace {

bio_ptr reader_of(const std::string& text) {
    bio_ptr b(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
    if (!b) throw std::bad_alloc();
    return b;
}

/// Whether the errors of this thread only say that there is nothing more.
bool is_at_end() noexcept {
    const auto last = ERR_peek_last_error();
    return ERR_GET_LIB(last) == ERR_LIB_PEM && ERR_GET_REASON(last) == PEM_R_NO_START_LINE;
}

/// Without one, OpenSSL would ask at the terminal.
int give_password(char* into, int size, int /*writes*/, void* password) {
    const auto& p = *static_cast<const std::string*>(password);
    if (p.empty() || p.size() > static_cast<std::size_t>(size)) return -1;
    std::ranges::copy(p, into);
    return static_cast<int>(p.size());
}

}  // namespace

std::string pem_of(const X509& certificate) {
    return text_of([&](BIO* b) { PEM_write_bio_X509(b, &certificate); });
}

std::string pem_of(const EVP_PKEY& key) {
    return text_of([&](BIO* b) { PEM_write_bio_PrivateKey(b, &key, nullptr, nullptr, 0, nullptr, nullptr); });
}

bool is_address(const std::string& host) noexcept {
    in6_addr room;
    return ::inet_pton(AF_INET, host.c_str(), &room) == 1 || ::inet_pton(AF_INET6, host.c_str(), &room) == 1;
}

std::string pem_text(std::string_view option, const std::string& value) {
    if (value.find("-----BEGIN") != std::string::npos) return value;
    constexpr std::string_view scheme = "file:";
    const std::string path = value.starts_with(scheme) ? value.substr(scheme.size()) : value;
    errno = 0;
    std::ifstream file(path, std::ios::binary);
    std::string text(std::istreambuf_iterator<char>(file), {});
    if (!file || file.bad())
        throw std::system_error(errno ? errno : EIO, std::generic_category(),
                                "weft: tls::context: " + std::string(option) + ": cannot read " + path);
    return text;
}

std::vector<x509_ptr> read_chain(std::string_view option, const std::string& text) {
    const auto from = reader_of(text);
    std::vector<x509_ptr> chain;
    ERR_clear_error();
    while (auto* const one = PEM_read_bio_X509(from.get(), nullptr, give_password, const_cast<std::string*>(&text)))
        chain.emplace_back(one);
    if (!is_at_end()) throw_bad_option(std::string(option) + " is not good: " + take_openssl_words());
    ERR_clear_error();
    if (chain.empty()) throw_bad_option(std::string(option) + " has no certificate (-----BEGIN CERTIFICATE-----)");
    return chain;
}

key_ptr read_key(std::string_view option, const std::string& text, const std::string& password) {
    const auto from = reader_of(text);
    ERR_clear_error();
    key_ptr key(PEM_read_bio_PrivateKey(from.get(), nullptr, give_password, const_cast<std::string*>(&password)));
    if (key) return key;
    const auto why = take_openssl_words();
    const bool encrypted = text.find("ENCRYPTED") != std::string::npos;
    throw_bad_option(std::string(option) + (encrypted && password.empty() ? " is encrypted: private_key_password is needed"
                                            : encrypted ? " cannot be decrypted; is private_key_password right? " + why
                                                        : " has no private key: " + why));
}

trusted_certificates read_trusted(std::string_view option, const std::string& text) {
    const auto from = reader_of(text);
    trusted_certificates found;
    ERR_clear_error();
    auto* const all = PEM_X509_INFO_read_bio(from.get(), nullptr, give_password, const_cast<std::string*>(&text));
    if (!all) throw_bad_option(std::string(option) + " is not good: " + take_openssl_words());
    const std::unique_ptr<STACK_OF(X509_INFO),
                          decltype([](STACK_OF(X509_INFO) * s) { sk_X509_INFO_pop_free(s, X509_INFO_free); })>
        owner(all);
    for (int i = 0; i < sk_X509_INFO_num(all); ++i) {
        auto& one = *sk_X509_INFO_value(all, i);
        if (one.x509) found.authorities.emplace_back(std::exchange(one.x509, nullptr));
        if (one.crl) found.revocations.emplace_back(std::exchange(one.crl, nullptr));
    }
    ERR_clear_error();
    if (found.authorities.empty()) throw_bad_option(std::string(option) + " has no certificate (-----BEGIN CERTIFICATE-----)");
    return found;
}

}  // namespace weft::detail

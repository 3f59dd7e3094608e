// pem.hpp - reads certificates and keys from the texts and files that the options name.
#pragma once

#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "tls/ssl.hpp"

namespace weft::detail {

struct trusted_certificates {
    std::vector<x509_ptr> authorities;
    std::vector<std::unique_ptr<X509_CRL, freed_by<X509_CRL_free>>> revocations;
};

/// What write(BIO*) writes.
template <class Write>
std::string text_of(Write&& write) {
    const bio_ptr b(BIO_new(BIO_s_mem()));
    if (!b) throw std::bad_alloc();
    write(b.get());
    char* data = nullptr;
    const long size = BIO_get_mem_data(b.get(), &data);
    return std::string(data, static_cast<std::size_t>(size));
}

std::string pem_of(const X509& certificate);
std::string pem_of(const EVP_PKEY& key);

/// Whether a host is an IP address, and no name.
bool is_address(const std::string& host) noexcept;

/// The text of an option: PEM as it is, or that of the file.
/// \throws  std::system_error if the file cannot be read.
std::string pem_text(std::string_view option, const std::string& value);

// Each takes a text of pem_text(), and throws std::invalid_argument that names the option.

std::vector<x509_ptr> read_chain(std::string_view option, const std::string& text);
key_ptr read_key(std::string_view option, const std::string& text, const std::string& password);
trusted_certificates read_trusted(std::string_view option, const std::string& text);

}  // namespace weft::detail

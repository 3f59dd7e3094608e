#include "tls/tickets.hpp"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include <algorithm>
#include <new>
#include <span>
#include <vector>

#include "tls/failure.hpp"

namespace weft::detail {
namespace {

constexpr std::int64_t hours_kept = 3;  // this one and two before it
constexpr std::size_t random_bytes = 32;

std::int64_t this_hour() noexcept {
    return std::chrono::floor<std::chrono::hours>(std::chrono::system_clock::now()).time_since_epoch().count();
}

/// The first bytes of HMAC-SHA256 of the label and the hour.
bool derive(std::string_view secret, std::string_view label, std::int64_t hour, std::span<unsigned char> into) noexcept {
    std::array<unsigned char, 32> input{};
    std::ranges::copy(label, input.begin());
    for (std::size_t i = 0; i < sizeof hour; ++i) input[24 + i] = static_cast<unsigned char>(hour >> (8 * i));
    std::array<unsigned char, 32> output;
    unsigned size = 0;
    if (!HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()), input.data(), input.size(), output.data(), &size))
        return false;
    std::copy_n(output.begin(), into.size(), into.begin());
    return true;
}

/// For OpenSSL. \returns 1; 2 if the ticket should be replaced; 0 if its keys are not known; -1 on failure.
int set_keys(const tls_tickets& tickets, unsigned char* name, unsigned char* start, EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac,
             bool makes) noexcept {
    const auto current = tickets.current();
    if (!current) return -1;
    auto keys = current;
    if (makes) {
        if (RAND_bytes(start, EVP_CIPHER_get_iv_length(EVP_aes_256_cbc())) != 1) return -1;
        std::ranges::copy(keys->name, name);
        if (EVP_EncryptInit_ex(cipher, EVP_aes_256_cbc(), nullptr, keys->cipher.data(), start) != 1) return -1;
    } else {
        keys = tickets.find(name);
        if (!keys) return 0;
        if (EVP_DecryptInit_ex(cipher, EVP_aes_256_cbc(), nullptr, keys->cipher.data(), start) != 1) return -1;
    }
    char digest[] = "sha256";
    const OSSL_PARAM parameters[] = {OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, keys->mac.data(), keys->mac.size()),
                                     OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
                                     OSSL_PARAM_construct_end()};
    if (EVP_MAC_CTX_set_params(mac, parameters) != 1) return -1;
    return keys->name == current->name ? 1 : 2;
}

int find_tickets_index() noexcept {
    static const int index = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
    return index;
}

int on_ticket(SSL* ssl, unsigned char* name, unsigned char* start, EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac, int makes) {
    const auto* const tickets = static_cast<const tls_tickets*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), find_tickets_index()));
    return tickets ? set_keys(*tickets, name, start, cipher, mac, makes == 1) : -1;
}

}  // namespace

tls_tickets::tls_tickets(std::string_view secret) : secret_(secret) {
    if (!secret_.empty()) return;
    secret_.resize(random_bytes);
    if (RAND_bytes(reinterpret_cast<unsigned char*>(secret_.data()), random_bytes) != 1)
        throw_bad_option("there are no random bytes for the keys of tickets: " + take_openssl_words());
}

std::optional<ticket_keys> tls_tickets::of_hour(std::int64_t hour) const noexcept {
    ticket_keys k;
    if (!derive(secret_, "weft ticket name", hour, k.name) || !derive(secret_, "weft ticket cipher", hour, k.cipher) ||
        !derive(secret_, "weft ticket mac", hour, k.mac))
        return std::nullopt;
    return k;
}

std::optional<ticket_keys> tls_tickets::current() const noexcept { return of_hour(this_hour()); }

std::optional<ticket_keys> tls_tickets::find(const unsigned char* name) const noexcept {
    const auto now = this_hour();
    for (std::int64_t age = 0; age < hours_kept; ++age) {
        auto keys = of_hour(now - age);
        if (keys && std::equal(keys->name.begin(), keys->name.end(), name)) return keys;
    }
    return std::nullopt;
}

void tls_tickets::use_in(SSL_CTX& context) {
    if (SSL_CTX_set_ex_data(&context, find_tickets_index(), this) != 1) throw std::bad_alloc();
    SSL_CTX_set_tlsext_ticket_key_evp_cb(&context, on_ticket);
}

}  // namespace weft::detail

#include "tls/tickets.hpp"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include <algorithm>
#include <span>

#include "tls/failure.hpp"

namespace weft::detail {
namespace {

constexpr std::size_t random_bytes = 32;

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

}  // namespace

tls_tickets::tls_tickets(std::string_view secret)
    : secret_(secret), cipher_(EVP_CIPHER_fetch(nullptr, "AES-256-CBC", nullptr), EVP_CIPHER_free) {
    if (!cipher_) throw_bad_option("OpenSSL has no AES-256-CBC for tickets: " + take_openssl_words());
    // The name of keys is in each ticket, and lets guesses of the secret be tried.
    if (!secret_.empty() && secret_.size() < random_bytes)
        throw_bad_option("ticket_secret has " + std::to_string(secret_.size()) +
                         " bytes; it must have at least 32, as random as a key");
    if (!secret_.empty()) return;
    secret_.resize(random_bytes);
    if (RAND_bytes(reinterpret_cast<unsigned char*>(secret_.data()), random_bytes) != 1)
        throw_bad_option("there are no random bytes for the keys of tickets: " + take_openssl_words());
}

std::int64_t tls_tickets::this_hour() noexcept {
    return std::chrono::floor<std::chrono::hours>(std::chrono::system_clock::now()).time_since_epoch().count();
}

std::optional<ticket_keys> tls_tickets::kept(std::int64_t hour) const noexcept {
    const lock_guard guard(lock_);
    const auto& there = place_of(hour);
    return there.hour == hour ? std::optional(there.keys) : std::nullopt;
}

std::optional<ticket_keys> tls_tickets::of_hour(std::int64_t hour) const noexcept {
    if (auto found = kept(hour)) return found;
    ticket_keys k;
    if (!derive(secret_, "weft ticket name", hour, k.name) || !derive(secret_, "weft ticket cipher", hour, k.cipher) ||
        !derive(secret_, "weft ticket mac", hour, k.mac))
        return std::nullopt;
    const lock_guard guard(lock_);
    place_of(hour) = {hour, k};
    return k;
}

std::optional<ticket_keys> tls_tickets::find(const unsigned char* name, std::int64_t hour) const noexcept {
    for (unsigned age = 0; age < hours_kept; ++age) {
        auto keys = of_hour(hour - age);
        if (keys && std::equal(keys->name.begin(), keys->name.end(), name)) return keys;
    }
    return std::nullopt;
}

int tls_tickets::set_keys(unsigned char* name, unsigned char* start, EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac,
                          bool makes) const noexcept {
    const auto hour = this_hour();
    const auto now = of_hour(hour);
    if (!now) return -1;
    auto keys = now;
    if (makes) {
        if (RAND_bytes(start, EVP_CIPHER_get_iv_length(cipher_.get())) != 1) return -1;
        std::ranges::copy(keys->name, name);
        if (EVP_EncryptInit_ex(cipher, cipher_.get(), nullptr, keys->cipher.data(), start) != 1) return -1;
    } else {
        keys = find(name, hour);
        if (!keys) return 0;
        if (EVP_DecryptInit_ex(cipher, cipher_.get(), nullptr, keys->cipher.data(), start) != 1) return -1;
    }
    char digest[] = "sha256";
    const OSSL_PARAM parameters[] = {OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, keys->mac.data(), keys->mac.size()),
                                     OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
                                     OSSL_PARAM_construct_end()};
    if (EVP_MAC_CTX_set_params(mac, parameters) != 1) return -1;
    return keys->name == now->name ? 1 : 2;
}

}  // namespace weft::detail

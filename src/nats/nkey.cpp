// nkey.cpp - decodes a seed and signs with it. The only part of this library that uses OpenSSL.
#include "nats/nkey.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include <weft/nats/error.hpp>

#ifdef WEFT_NATS_WITH_OPENSSL
#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <memory>
#endif

namespace weft::detail::nats {

using weft::nats::error;
using weft::nats::nats_errc;

std::string read_nkey_file(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) throw error(nats_errc::bad_nkey, "nats: the nkey file " + path + " cannot be opened");
    struct ::stat about {};
    const bool known = ::fstat(fd, &about) == 0;
    std::array<char, 1024> bytes{};
    const auto n = ::read(fd, bytes.data(), bytes.size());
    ::close(fd);
    if (!known || n < 0) throw error(nats_errc::bad_nkey, "nats: the nkey file " + path + " cannot be read");
    if ((about.st_mode & 077) != 0)
        throw error(nats_errc::bad_nkey, "nats: the nkey file " + path + " is open to others than its owner; chmod 600 it");
    std::string_view text(bytes.data(), static_cast<std::size_t>(n));
    const auto begin = text.find("SU");
    if (begin == std::string_view::npos) throw error(nats_errc::bad_nkey, "nats: the nkey file " + path + " has no seed (SU...)");
    text.remove_prefix(begin);
    return std::string(text.substr(0, text.find_first_of(" \t\r\n")));
}

#ifdef WEFT_NATS_WITH_OPENSSL

namespace {

using bytes = std::vector<std::uint8_t>;

constexpr std::string_view base32_digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
constexpr std::string_view base64_digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::uint8_t seed_prefix = 18 << 3, user_prefix = 20 << 3;  // 'S' and 'U' as first digits
constexpr std::size_t key_bytes = 32;

/// Spells groups of `bits` bits as digits, the last group filled up with zeros.
std::string spell(std::span<const std::uint8_t> all, std::string_view digits, unsigned bits) {
    std::string text;
    std::uint32_t held = 0;
    unsigned have = 0;
    for (const auto b : all) {
        held = held << 8 | b;
        for (have += 8; have >= bits; have -= bits) text += digits[held >> (have - bits) & ((1u << bits) - 1)];
    }
    if (have != 0) text += digits[held << (bits - have) & ((1u << bits) - 1)];
    return text;
}

bytes decode_base32(std::string_view text) {
    bytes all;
    std::uint32_t held = 0;
    unsigned have = 0;
    for (const char c : text) {
        const auto digit = base32_digits.find(c);
        if (digit == std::string_view::npos) return {};
        held = held << 5 | static_cast<std::uint32_t>(digit);
        if ((have += 5) < 8) continue;
        have -= 8;
        all.push_back(static_cast<std::uint8_t>(held >> have));
    }
    return all;
}

/// The CRC of XMODEM, with 16 bits
std::uint16_t checksum(std::span<const std::uint8_t> all) noexcept {
    unsigned crc = 0;
    for (const auto b : all) {
        crc ^= static_cast<unsigned>(b) << 8;
        for (int i = 0; i < 8; ++i) crc = (crc << 1 ^ ((crc & 0x8000) != 0 ? 0x1021u : 0u)) & 0xffff;
    }
    return static_cast<std::uint16_t>(crc);
}

struct free_key {
    void operator()(EVP_PKEY* k) const noexcept { EVP_PKEY_free(k); }
    void operator()(EVP_MD_CTX* c) const noexcept { EVP_MD_CTX_free(c); }
};

}  // namespace

nkey_proof sign_nonce(std::string_view seed, std::string_view nonce) {
    auto raw = decode_base32(seed);
    // Two bytes of prefixes, the key, and the checksum with its low byte first.
    const bool right = raw.size() == 2 + key_bytes + 2 && (raw[0] & 0xf8) == seed_prefix &&
                       static_cast<std::uint8_t>((raw[0] & 7) << 5 | raw[1] >> 3) == user_prefix &&
                       checksum(std::span(raw).first(2 + key_bytes)) == (raw[34] | raw[35] << 8);
    if (!right) throw error(nats_errc::bad_nkey, "nats: the nkey is not the seed of a user (SU...), or is misspelled");
    const std::unique_ptr<EVP_PKEY, free_key> key(
        EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, raw.data() + 2, key_bytes));
    OPENSSL_cleanse(raw.data(), raw.size());
    const std::unique_ptr<EVP_MD_CTX, free_key> context(EVP_MD_CTX_new());
    bytes named(1 + key_bytes, user_prefix);
    std::size_t public_size = key_bytes;
    std::array<std::uint8_t, 64> signature{};
    std::size_t signature_size = signature.size();
    if (!key || !context || EVP_PKEY_get_raw_public_key(key.get(), named.data() + 1, &public_size) != 1 ||
        EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) != 1 ||
        EVP_DigestSign(context.get(), signature.data(), &signature_size, reinterpret_cast<const std::uint8_t*>(nonce.data()),
                       nonce.size()) != 1)
        throw error(nats_errc::bad_nkey, "nats: OpenSSL cannot sign with Ed25519");
    const auto crc = checksum(named);
    named.push_back(static_cast<std::uint8_t>(crc & 0xff));
    named.push_back(static_cast<std::uint8_t>(crc >> 8));
    return {spell(named, base32_digits, 5), spell(signature, base64_digits, 6)};
}

#else

nkey_proof sign_nonce(std::string_view, std::string_view) {
    throw error(nats_errc::no_nkeys, "nats: this weft was built without OpenSSL (libssl-dev), which nkeys need");
}

#endif

}  // namespace weft::detail::nats

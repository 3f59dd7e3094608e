// nkey.hpp - proves to a server that a client has an Ed25519 key, which NATS spells as text.
#pragma once

#include <string>
#include <string_view>

namespace weft::detail::nats {

struct nkey_proof {
    std::string public_key;  // "U..."
    std::string signature;   // base64 for URLs, without padding
};

/// \throws  weft::nats::error of bad_nkey, or of no_nkeys in a build without OpenSSL.
nkey_proof sign_nonce(std::string_view seed, std::string_view nonce);

/// Reads the seed from a file of which nobody but its owner may do anything.
/// \throws  weft::nats::error of bad_nkey
std::string read_nkey_file(const std::string& path);

}  // namespace weft::detail::nats

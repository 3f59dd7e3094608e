// self_signed.hpp - a certificate for tests and development, made on the spot.
#pragma once

#include <string>
#include <vector>

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

namespace weft::tls {

/// PEM texts.
struct WEFT_EXPORT key_pair {
    std::string certificate, key;
};

/// Makes a key and a certificate for these names and addresses, which is valid for 30
/// days and signed by the key itself. Only a client that is told so trusts it:
///
///     const auto pair = weft::tls::self_signed();
///     weft::tls::context server({.certificate_chain = pair.certificate, .private_key = pair.key});
///     weft::tls::context client({.ca = pair.certificate});
///
/// \throws  std::invalid_argument for a name that cannot be one, and if there are none.
[[nodiscard]] WEFT_EXPORT key_pair self_signed(const std::vector<std::string>& names = {"localhost", "127.0.0.1", "::1"});

}  // namespace weft::tls

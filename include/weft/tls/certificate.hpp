// certificate.hpp - what a peer's certificate says, as plain values.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace weft::tls {

struct WEFT_EXPORT certificate {
    std::string subject;  ///< for example "CN=example.org,O=Example" [RFC2253]
    std::string issuer;
    /// The names and addresses that it is for.
    std::vector<std::string> names;
    std::string serial;  ///< in hexadecimal digits
    std::chrono::system_clock::time_point not_before, not_after;
    std::string sha256;  ///< its fingerprint, in hexadecimal digits
    std::string pem;
};

}  // namespace weft::tls

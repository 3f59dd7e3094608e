// failure.hpp - what OpenSSL says of a failure, as an error code and words.
#pragma once

#include <openssl/ssl.h>

#include <string>
#include <system_error>

namespace weft::detail {

struct tls_failure {
    std::error_code code;
    std::string words;  // what code.message() does not say; mostly empty
};

/// Takes the errors of this thread out of OpenSSL's queue. \returns the first of them in words, or "".
std::string take_openssl_words();

/// Why a call for this connection has failed, when the stream below has not: from the errors of this
/// thread, which are taken, and from what was found of the peer's certificate.
tls_failure take_tls_failure(const SSL& of);

/// Why `what` is no good.
[[noreturn]] void throw_bad_option(const std::string& what);

}  // namespace weft::detail

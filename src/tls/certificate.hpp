// certificate.hpp - makes plain values of OpenSSL's certificates.
#pragma once

#include <weft/tls/certificate.hpp>

#include "tls/ssl.hpp"

namespace weft::detail {

tls::certificate values_of(const X509& c);

}  // namespace weft::detail

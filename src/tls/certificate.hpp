// certificate.hpp - makes plain values of an X509.
#pragma once

#include <weft/tls/certificate.hpp>

#include "tls/ssl.hpp"

namespace weft::detail {

tls::certificate values_of(const X509& c);

}  // namespace weft::detail

// tls.hpp - TLS connections, from weft::tls.
#pragma once

#include <weft/tls/certificate.hpp>
#include <weft/tls/context.hpp>
#include <weft/tls/error.hpp>
#include <weft/tls/self_signed.hpp>
#include <weft/tls/stream.hpp>

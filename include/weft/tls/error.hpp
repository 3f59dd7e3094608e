// error.hpp - what can go wrong with TLS, beyond the failures of the connection below.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

#include <system_error>

namespace weft::tls {

enum class errc {
    // The peer's certificate, seen from this end.
    certificate_expired = 1,
    certificate_not_yet_valid,
    /// It is for other names than the one that was asked for.
    certificate_wrong_name,
    certificate_self_signed,
    /// No trusted authority has signed it.
    certificate_unknown_authority,
    certificate_revoked,
    certificate_missing,   ///< a client has none, and must
    certificate_rejected,  ///< for another reason, which what() names

    /// The peer has ended the handshake: it does not accept this end's certificate, or anything else
    /// of its offer. what() names the reason that it gave.
    refused_by_peer,
    no_common_version,
    no_common_cipher,
    no_common_protocol,  ///< of those of ALPN
    not_tls,             ///< the peer speaks another protocol
    /// The connection ended without the end of the TLS stream: it may have been cut.
    truncated,
    broken,  ///< the peer breaks a rule of TLS, or a record was changed on its way
    no_certificate_here,  ///< a server's context has no certificate
};

WEFT_EXPORT const std::error_category& error_category() noexcept;

inline std::error_code make_error_code(errc e) noexcept { return {static_cast<int>(e), error_category()}; }

}  // namespace weft::tls

template <>
struct std::is_error_code_enum<weft::tls::errc> : std::true_type {};

#include "tls/failure.hpp"

#include <openssl/err.h>
#include <openssl/x509_vfy.h>

#include <array>
#include <stdexcept>

#include <weft/tls/error.hpp>

namespace weft::detail {
namespace {

using tls::errc;

errc of_certificate(long verified) noexcept {
    switch (verified) {
        case X509_V_ERR_CERT_HAS_EXPIRED: return errc::certificate_expired;
        case X509_V_ERR_CERT_NOT_YET_VALID: return errc::certificate_not_yet_valid;
        case X509_V_ERR_HOSTNAME_MISMATCH:
        case X509_V_ERR_IP_ADDRESS_MISMATCH: return errc::certificate_wrong_name;
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
        case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN: return errc::certificate_self_signed;
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
        case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE: return errc::certificate_unknown_authority;
        case X509_V_ERR_CERT_REVOKED: return errc::certificate_revoked;
        default: return errc::certificate_rejected;
    }
}

/// The numbers of alerts that the peer has sent begin here, in what OpenSSL calls reasons.
constexpr int first_alert = SSL_AD_REASON_OFFSET;

errc of_reason(int reason) noexcept {
    switch (reason) {
        case SSL_R_UNEXPECTED_EOF_WHILE_READING: return errc::truncated;
        case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE: return errc::certificate_missing;
        case SSL_R_UNSUPPORTED_PROTOCOL:
        case SSL_R_UNKNOWN_PROTOCOL:
        case SSL_R_VERSION_TOO_LOW:
        case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
        case SSL_R_NO_PROTOCOLS_AVAILABLE: return errc::no_common_version;
        case SSL_R_NO_SHARED_CIPHER:
        case SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
        case SSL_R_NO_SUITABLE_KEY_SHARE: return errc::no_common_cipher;
        case SSL_R_NO_APPLICATION_PROTOCOL:
        case SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL: return errc::no_common_protocol;
        case SSL_R_WRONG_VERSION_NUMBER:
        case SSL_R_HTTP_REQUEST:
        case SSL_R_HTTPS_PROXY_REQUEST: return errc::not_tls;
        default: return reason >= first_alert ? errc::refused_by_peer : errc::broken;
    }
}

std::string words_of(unsigned long error) {
    if (const char* const reason = ERR_reason_error_string(error)) return reason;
    std::array<char, 256> text{};
    ERR_error_string_n(error, text.data(), text.size());
    return text.data();
}

}  // namespace

std::string take_openssl_words() {
    const auto first = ERR_get_error();
    ERR_clear_error();
    return first ? words_of(first) : std::string();
}

tls_failure take_tls_failure(const SSL& of) {
    const auto first = ERR_get_error();
    ERR_clear_error();
    if (ERR_GET_LIB(first) == ERR_LIB_SSL && ERR_GET_REASON(first) == SSL_R_CERTIFICATE_VERIFY_FAILED) {
        const long verified = SSL_get_verify_result(&of);
        const auto code = of_certificate(verified);
        return {code, code == errc::certificate_rejected ? X509_verify_cert_error_string(verified) : ""};
    }
    if (ERR_GET_REASON(first) == ERR_R_MALLOC_FAILURE) return {std::make_error_code(std::errc::not_enough_memory), {}};
    if (ERR_GET_LIB(first) != ERR_LIB_SSL) return {errc::broken, first ? words_of(first) : std::string()};
    const auto code = of_reason(ERR_GET_REASON(first));
    if (code == errc::refused_by_peer) return {code, SSL_alert_desc_string_long(ERR_GET_REASON(first) - first_alert)};
    return {code, code == errc::broken ? words_of(first) : std::string()};
}

void throw_bad_option(const std::string& what) { throw std::invalid_argument("weft: tls::context: " + what); }

}  // namespace weft::detail

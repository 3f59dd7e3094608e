// error.cpp - the words of tls::errc.
#include <weft/tls/error.hpp>

#include <string>

namespace weft::tls {
namespace {

const char* words(errc e) noexcept {
    switch (e) {
        case errc::certificate_expired: return "the peer's certificate has expired";
        case errc::certificate_not_yet_valid: return "the peer's certificate is not valid yet";
        case errc::certificate_wrong_name: return "the peer's certificate is for another name";
        case errc::certificate_self_signed:
            return "the peer's certificate is signed by itself or by an authority that is not trusted";
        case errc::certificate_unknown_authority: return "no trusted authority has signed the peer's certificate";
        case errc::certificate_revoked: return "the peer's certificate is revoked";
        case errc::certificate_missing: return "the client has no certificate";
        case errc::certificate_rejected: return "the peer's certificate is not accepted";
        case errc::refused_by_peer: return "the peer refuses the connection";
        case errc::no_common_version: return "no version of TLS that both sides accept";
        case errc::no_common_cipher: return "no cipher suite that both sides accept";
        case errc::no_common_protocol: return "no protocol that both sides accept (ALPN)";
        case errc::not_tls: return "the peer does not speak TLS";
        case errc::truncated: return "the connection ended without the end of the TLS stream";
        case errc::broken: return "the peer breaks the rules of TLS";
        case errc::no_certificate_here: return "this server has no certificate";
    }
    return "unknown error of TLS";
}

class category final : public std::error_category {
public:
    const char* name() const noexcept override { return "weft.tls"; }
    std::string message(int e) const override { return words(static_cast<errc>(e)); }
};

}  // namespace

const std::error_category& error_category() noexcept {
    static const category only;
    return only;
}

}  // namespace weft::tls

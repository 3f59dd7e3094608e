// error.cpp - the words of etcd_errc.
#include <weft/etcd/error.hpp>

#include <string>

namespace weft::etcd {
namespace {

const char* words(etcd_errc e) noexcept {
    switch (e) {
        case etcd_errc::unavailable: return "no etcd server is available";
        case etcd_errc::no_leader: return "the etcd server has no leader";
        case etcd_errc::auth_failed: return "etcd refuses the user, the password or the token";
        case etcd_errc::permission_denied: return "the user may not do that in etcd";
        case etcd_errc::compacted: return "etcd no longer stores that revision";
        case etcd_errc::future_revision: return "etcd has not come to that revision yet";
        case etcd_errc::lease_not_found: return "the lease is dead or never was";
        case etcd_errc::lease_exists: return "there is a lease of that id";
        case etcd_errc::invalid: return "etcd refuses the request";
        case etcd_errc::not_found: return "etcd does not have it";
        case etcd_errc::overloaded: return "etcd has too much to do, or no space";
        case etcd_errc::protocol: return "the answer is not one of etcd";
        case etcd_errc::too_large: return "the request or the answer is too large";
        case etcd_errc::server: return "etcd has failed";
    }
    return "unknown error of etcd";
}

class category final : public std::error_category {
public:
    const char* name() const noexcept override { return "weft.etcd"; }
    std::string message(int e) const override { return words(static_cast<etcd_errc>(e)); }
};

}  // namespace

const std::error_category& error_category() noexcept {
    static const category only;
    return only;
}

}  // namespace weft::etcd

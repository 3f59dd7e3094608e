// error.hpp - every failure of a request to etcd, as one type.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

#include <string>
#include <system_error>

namespace weft::etcd {

enum class etcd_errc {
    unavailable = 1,    ///< no endpoint can be reached or answers; or the server cannot serve now
    no_leader,          ///< the server has no leader: most of its cluster is away
    auth_failed,        ///< user, password or token are refused
    permission_denied,  ///< the user may not do that
    compacted,          ///< the revision is no longer stored
    future_revision,    ///< the revision has not been made yet
    lease_not_found,    ///< the lease has expired, was revoked, or never was
    lease_exists,       ///< the id that grant() was given is taken
    invalid,            ///< the server refuses the request as such
    not_found,          ///< what the request names is not there
    overloaded,         ///< too many requests, or no space
    protocol,           ///< the answer is not what etcd's interface allows
    too_large,          ///< the answer is larger than client_options::max_answer_bytes, or the request than the server takes
    server,             ///< another failure of the server
};

WEFT_EXPORT const std::error_category& error_category() noexcept;

inline std::error_code make_error_code(etcd_errc e) noexcept { return {static_cast<int>(e), error_category()}; }

/// A request that has failed. what() names the call, the endpoint and the reason.
class WEFT_EXPORT error : public std::system_error {
public:
    error(etcd_errc code, const std::string& what, bool maybe_done)
        : std::system_error(make_error_code(code), what), maybe_done_(maybe_done) {}

    [[nodiscard]] etcd_errc reason() const noexcept { return static_cast<etcd_errc>(code().value()); }
    /// Whether a write may have been done although this says that it failed: its answer was lost.
    [[nodiscard]] bool maybe_done() const noexcept { return maybe_done_; }

private:
    bool maybe_done_;
};

}  // namespace weft::etcd

template <>
struct std::is_error_code_enum<weft::etcd::etcd_errc> : std::true_type {};

// lease.hpp - a lease of etcd that renews itself, and tells when it has ended.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include <weft/detail/export.hpp>
#include <weft/etcd/kv.hpp>

namespace weft::detail {
class etcd_wire;
}

namespace weft::etcd {

class client;

struct granted_lease {
    lease_id id = 0;
    std::chrono::seconds ttl{};  ///< may be longer than what was asked for
};

struct lease_state {
    std::chrono::seconds left{}, granted{};
    std::vector<std::string> keys = {};
};

/// CLOCK_BOOTTIME in nanoseconds: it goes on while the machine sleeps, unlike the steady clock.
WEFT_EXPORT std::chrono::nanoseconds boot_time() noexcept;

struct lease_options {
    /// Whether the destructor tells the server that the lease is over. If not, its keys stay until it
    /// expires.
    bool revoke_at_end = true;
    /// What valid_until() counts by.
    std::function<std::chrono::nanoseconds()> clock = boot_time;
};

/// A lease that a fiber of its own renews each third of its time.
///
///     weft::etcd::lease mine(db, std::chrono::seconds(10));
///     db.put("workers/a1", "here", {.lease = mine.id()});
///     work_until(mine.get_stop_token());
///
/// It is lost if the server says that it is dead, or if valid_until() has passed without an answer. It does
/// not come back then. A fiber that must not act without it looks at valid_until() itself before it acts: no
/// notice can be in time for a machine that slept.
class WEFT_EXPORT lease {
public:
    /// \parks   until the server has granted it.
    /// \throws  as client::grant().
    lease(const client& c, std::chrono::nanoseconds ttl, lease_options o = {});
    /// Ends the renewals, and revokes the lease unless it is lost; that waits for a second at most, shielded.
    ~lease();
    lease(lease&&) noexcept;
    lease& operator=(lease&&) noexcept;

    [[nodiscard]] lease_id id() const noexcept;
    [[nodiscard]] std::chrono::seconds ttl() const noexcept;
    /// Until when the server keeps it in any case: the time before the last answered renewal was sent, and
    /// the TTL. By lease_options::clock.
    [[nodiscard]] std::chrono::nanoseconds valid_until() const noexcept;
    /// Stopped when the lease is lost.
    [[nodiscard]] std::stop_token get_stop_token() const noexcept;
    [[nodiscard]] bool is_lost() const noexcept { return get_stop_token().stop_requested(); }
    /// \parks  until the lease is lost.
    void wait_until_lost() const;

private:
    struct impl;
    std::unique_ptr<impl> impl_;
};

}  // namespace weft::etcd

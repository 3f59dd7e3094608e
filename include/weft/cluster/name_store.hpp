// name_store.hpp - what nodes agree on: which of them live, and which has a name.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

namespace weft::cluster {

/// An entry of a name_store.
struct stored {
    std::string key, value;
    /// The revision of the store at which the entry was made or replaced: larger than all tokens before, of
    /// any key.
    std::uint64_t token = 0;
};

/// A change of an entry: it was made or replaced, or is gone (then `now.value` is empty).
struct name_change {
    stored now;
    bool is_gone = false;
};

/// The changes of the entries whose keys begin alike. One fiber may use it at a time, except for close().
class WEFT_EXPORT name_watch {
public:
    virtual ~name_watch() = default;
    /// Waits for the next change. No change is left out, and none comes twice.
    /// \returns false once it was closed. \parks until there is a change
    /// \throws  std::system_error if changes were missed: list() anew, and watch from there; weft::cancelled.
    virtual bool receive(name_change& into) = 0;
    virtual void close() noexcept = 0;
};

/// A linearizable store with leases: etcd, or a simulated one (simulated_names.hpp). A call that throws
/// std::system_error may have been done, or may still be done later. All fibers may use it at once; all
/// functions but clock() park until the store has answered, and throw weft::cancelled.
class WEFT_EXPORT name_store {
public:
    virtual ~name_store() = default;

    /// A clock that runs while the machine sleeps, too.
    [[nodiscard]] virtual std::chrono::nanoseconds clock() const noexcept = 0;
    /// \returns a lease that lasts for so long after the call or its last renewal, and longer if the store
    ///          has had trouble.
    virtual std::uint64_t grant(std::chrono::nanoseconds ttl) = 0;
    /// \returns how long the lease lasts from now on; empty if it has ended: it never comes back.
    virtual std::optional<std::chrono::nanoseconds> renew(std::uint64_t lease) = 0;
    /// Ends a lease, and removes its entries.
    virtual void revoke(std::uint64_t lease) = 0;

    /// Makes an entry that lives as long as the lease.
    /// \returns the token; empty if the key has an entry, or if the lease has ended.
    virtual std::optional<std::uint64_t> claim(std::string_view key, std::string_view value, std::uint64_t lease) = 0;
    /// Replaces an entry that has this token. \returns the new token; empty if it has another one, or is
    /// gone.
    virtual std::optional<std::uint64_t> replace(std::string_view key, std::uint64_t token, std::string_view value,
                                                 std::uint64_t lease) = 0;
    /// Makes or replaces an entry that has no lease, for the owner of a name: only if the name's entry has the
    /// token of its claim, and this one still has the token `before` (0: there is none).
    /// \returns the entry's new token; empty if one of the two is otherwise.
    virtual std::optional<std::uint64_t> put_as_owner(std::string_view key, std::string_view value, std::uint64_t before,
                                                      std::string_view name, std::uint64_t token) = 0;
    /// Removes an entry that has this token. \returns whether there was one
    virtual bool remove(std::string_view key, std::uint64_t token) = 0;

    [[nodiscard]] virtual std::optional<stored> find(std::string_view key) = 0;
    struct listing {
        std::vector<stored> entries;  ///< in the order of their keys
        std::uint64_t revision = 0;  ///< of the store; watch() from the next one misses nothing
    };
    [[nodiscard]] virtual listing list(std::string_view prefix) = 0;
    [[nodiscard]] virtual std::unique_ptr<name_watch> watch(std::string_view prefix, std::uint64_t from_revision) = 0;
};

}  // namespace weft::cluster

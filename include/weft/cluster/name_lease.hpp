// name_lease.hpp - a name that this node has, and no other.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

namespace weft::cluster {

namespace detail {
class membership;
struct held_name;
}  // namespace detail

/// A name that was claimed by node::claim(). Move-only; its destructor releases the name.
///
/// What is promised: at most one node whose clock runs, and whose process is not stopped, has held() true for
/// a name. A process that was stopped may act once, when it goes on, on what it had looked at before. So what
/// an owner does to the outside should carry the token, and the place where it arrives should refuse a token
/// older than one that it has seen.
class WEFT_EXPORT name_lease {
public:
    /// Internal: for weft's own parts.
    name_lease(std::shared_ptr<detail::membership> by, std::shared_ptr<detail::held_name> what) noexcept;
    name_lease(name_lease&&) noexcept;
    name_lease& operator=(name_lease&&) noexcept;
    /// As release(). \parks
    ~name_lease();

    [[nodiscard]] std::string_view name() const noexcept;
    /// Larger than the token of each earlier owner of any name.
    [[nodiscard]] std::uint64_t token() const noexcept;
    /// \returns whether this node still has the name: it looks at the clock, and asks no other.
    [[nodiscard]] bool held() const noexcept;
    /// Is stopped when this node does not have the name any more.
    [[nodiscard]] std::stop_token stop_token() const noexcept;
    /// Gives the name up, so that others can claim it at once. \parks until the store has answered, for up to
    /// a second
    void release() noexcept;

private:
    std::shared_ptr<detail::membership> by_;
    std::shared_ptr<detail::held_name> what_;
};

}  // namespace weft::cluster

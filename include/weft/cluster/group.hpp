// group.hpp - actors of any nodes of which each message goes to one.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <weft/cluster/detail/remote_core.hpp>
#include <weft/detail/timeouts.hpp>

namespace weft::cluster {

/// A group of actors, which node::group() gives. Actors join it by node::join_group(), on any node; each
/// message goes to one of them, which the transport chooses. It needs no contact between nodes, so there is
/// no order, no credit and no epoch: a message may be lost, silently if it was sent, by the time limit if it
/// was asked. It is written in the oldest version that this program knows.
template <class A>
class group_ref {
public:
    /// Internal: for weft's own parts.
    group_ref(std::shared_ptr<detail::node_core> by, std::string_view name) : by_(std::move(by)), name_(name) {}

    /// Sends a message to one member; to nobody if there is none.
    /// \parks   while the transport holds too much.
    /// \throws  error: bad_name, too_large, closed, no_lease; what the transport throws; weft::cancelled.
    template <class M>
        requires detail::remotely_takes<A, M>
    void send(const M& m) const {
        detail::group_send(*by_, name_, detail::outgoing::of(m));
    }
    /// Asks one member, and waits for what its handler returns. The limit is a duration or a point in time.
    /// \parks   until the message is answered.
    /// \throws  error: unreachable if there is no member, and as of remote_ref::ask(); timeout_error: a member
    ///          may have handled it; weft::cancelled.
    template <class M, weft::detail::time_limit Limit>
        requires detail::remotely_takes<A, M>
    auto ask(const M& m, const Limit& limit) const {
        using R = weft::detail::reply_of<A, M>;
        const auto answer = detail::group_ask(*by_, name_, detail::outgoing::of(m), weft::detail::deadline_of(limit));
        if constexpr (!std::is_void_v<R>) return detail::read_answer<R>(answer);
    }

    [[nodiscard]] const std::string& name() const noexcept { return name_; }

private:
    std::shared_ptr<detail::node_core> by_;
    std::string name_;
};

}  // namespace weft::cluster

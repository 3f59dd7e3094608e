// remote_ref.hpp - a reference to an actor that may live on another node.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include <weft/channel.hpp>
#include <weft/cluster/detail/remote_core.hpp>
#include <weft/detail/timeouts.hpp>
#include <weft/exit_reason.hpp>
#include <weft/supervisor.hpp>

namespace weft::cluster {

/// A reference to an actor of the cluster: of another node or of this one. Node::expose() and node::find()
/// give it. It is a type of its own, since what is sent between nodes may be lost, and since an ask must have
/// a limit. Copies name the same actor; it does not keep the actor alive.
///
/// What is promised: messages of one fiber to one actor are handled in the order sent, each at most once. If
/// one is lost, none that was sent after it in the same epoch (docs/design/cluster.md) is handled, and
/// monitors are told `node_gone`.
template <class A>
class remote_ref {
public:
    remote_ref() noexcept = default;
    /// Internal: for weft's own parts.
    remote_ref(std::shared_ptr<detail::node_core> by, detail::remote_address to) : by_(std::move(by)), to_(std::move(to)) {}

    /// Sends a message.
    /// \parks   until there is contact with the node, while node_options::credit messages to this actor are
    ///          under way, and while the transport holds too much.
    /// \throws  error: unreachable, bad_version, too_large, closed: nothing was sent; node_gone: the contact
    ///          was lost while it waited, and nothing was sent. weft::cancelled.
    template <class M>
        requires detail::remotely_takes<A, M>
    void send(const M& m) const {
        detail::remote_send(*by_, to_, detail::outgoing::of(m));
    }
    /// Sends a message and waits for what the handler returns. The limit is a duration or a point in time.
    /// \parks   until the message is answered.
    /// \throws  timeout_error, actor_gone, error (see error::maybe_handled()); weft::cancelled.
    template <class M, weft::detail::time_limit Limit>
        requires detail::remotely_takes<A, M>
    auto ask(const M& m, const Limit& limit) const {
        using R = weft::detail::reply_of<A, M>;
        const auto answer = detail::remote_ask(*by_, to_, detail::outgoing::of(m), weft::detail::deadline_of(limit));
        if constexpr (!std::is_void_v<R>) return detail::read_answer<R>(answer);
    }
    /// \returns a receiver that gets the reason once the actor has ended, or once the contact with its node
    ///          was lost (then exit_reason::failure is an error), and is closed then.
    /// \parks   until there is contact with the node. \throws as send()
    [[nodiscard]] receiver<exit_reason> monitor() const { return detail::remote_monitor(*by_, to_); }

    [[nodiscard]] const std::string& node() const noexcept { return to_.node; }
    /// Which life of the node it is.
    [[nodiscard]] std::uint64_t incarnation() const noexcept { return to_.incarnation; }
    /// False for one that was made without an actor, or moved from; it may only be assigned to.
    explicit operator bool() const noexcept { return by_ != nullptr; }
    friend bool operator==(const remote_ref& a, const remote_ref& b) { return a.to_ == b.to_; }

    /// Internal: for weft's own parts.
    const detail::remote_address& address() const noexcept { return to_; }
    const std::shared_ptr<detail::node_core>& by() const noexcept { return by_; }

private:
    std::shared_ptr<detail::node_core> by_;
    detail::remote_address to_;
};

/// Links an actor or a supervisor of this process with an actor of the cluster: when one ends abnormally, so
/// does the other, or it is told by linked_exit, as with link() of two actors of one process. If the contact
/// with the node is lost, each side is told that the other one has failed. If the other actor had ended
/// before, or is not exposed, the local one is told as if that happened now. To link them twice from one side
/// is to link them once; a link that is made from each side counts twice.
///
/// \parks   until there is contact with the node, and while the transport holds too much.
/// \throws  actor_gone if the local one has ended; error as of remote_ref::send(); weft::cancelled.
template <weft::detail::link_handle Here, class A>
void link(const Here& here, const remote_ref<A>& there) {
    detail::remote_link(*there.by(), weft::detail::end_of_link(here), there.address());
}
/// Takes such a link away; it may only be done where the link was made.
template <weft::detail::link_handle Here, class A>
void unlink(const Here& here, const remote_ref<A>& there) noexcept {
    detail::remote_unlink(*there.by(), weft::detail::end_of_link(here), there.address());
}

}  // namespace weft::cluster

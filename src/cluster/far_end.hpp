// far_end.hpp - an actor of another node, as the links of an actor of this node see it.
//
// A link between nodes is two local links, each of an actor with a far_end, and a pair of frames between
// them. The node keeps no far_end alive: the list of links of the local actor does.
//
// Invariants
//   FAR_END-1  A far_end is in contact::links from before its first frame is queued. The code that takes it
//              out decides how the link ends, so each side is told at most once.
//   FAR_END-2  The other node is told of the end of a link that it was told of, whatever ends it here, unless
//              it has said so itself or the epoch has ended.
//   FAR_END-3  end() and the destructor are never called under the lock of the node, since the local actor
//              is told by them.
//   FAR_END-4  A far_end is of one link. Once that was broken here, no later link of the two is made with it:
//              life() says so, which the core calls under its lock when it breaks the link.
//   FAR_END-5  Nothing here waits for the transport, since an actor that ends calls it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "actor/linkable.hpp"
#include "base/atomic.hpp"
#include "cluster/epoch.hpp"

namespace weft::cluster::detail {

class node_core;
struct contact;

/// Names a link between two nodes for one of them.
struct link_key {
    std::uint64_t id = 0;  // given by the node that has made the link
    bool is_theirs = false;  // the other node has made it
    friend auto operator<=>(const link_key&, const link_key&) noexcept = default;
};

class far_end final : public weft::detail::linkable, public std::enable_shared_from_this<far_end> {
public:
    far_end(std::shared_ptr<node_core> by, std::shared_ptr<contact> to, epoch_halves of, link_key key, std::string name) noexcept;
    /// No actor is linked with it any more.
    ~far_end();

    /// The other actor, or the contact with its node, has ended: tells the local actor.
    void end(const weft::exit_reason& why) noexcept;
    const link_key& key() const noexcept { return key_; }

    std::string_view name() const noexcept override { return name_; }
    std::shared_ptr<linkable> held() override { return shared_from_this(); }
    bool has_ended() const noexcept override { return state_.load(weft::detail::acquire) != state::linked; }  // pairs with end()
    /// Whether the local end has broken the link.
    bool is_broken_here() const noexcept { return state_.load(weft::detail::acquire) == state::broken_here; }
    [[noreturn]] void throw_gone() override;
    std::uint64_t life() noexcept override;  // FAR_END-4
    void linked_end(std::uint64_t life, std::string_view other, const weft::exit_reason& why) noexcept override;

private:
    const std::shared_ptr<node_core> by_;
    const std::shared_ptr<contact> to_;
    const epoch_halves of_;
    const link_key key_;
    const std::string name_;
    enum class state : std::uint8_t { linked, broken_here, ended_there };
    weft::exit_reason why_;  // written once, before state_ is ended_there
    weft::detail::atomic<state> state_{state::linked};
};

}  // namespace weft::cluster::detail

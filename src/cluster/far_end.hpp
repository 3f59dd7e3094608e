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
    /// No actor is linked with it any more. \parks
    ~far_end();

    /// The other actor, or the contact with its node, has ended: tells the local actor.
    void end(const weft::exit_reason& why) noexcept;
    const link_key& key() const noexcept { return key_; }

    std::string_view name() const noexcept override { return name_; }
    std::shared_ptr<linkable> held() override { return shared_from_this(); }
    bool has_ended() const noexcept override { return has_ended_.load(weft::detail::acquire); }  // pairs with end()
    [[noreturn]] void throw_gone() override;
    std::uint64_t life() noexcept override { return 0; }
    /// \parks
    void linked_end(std::uint64_t life, std::string_view other, const weft::exit_reason& why) noexcept override;

private:
    const std::shared_ptr<node_core> by_;
    const std::shared_ptr<contact> to_;
    const epoch_halves of_;
    const link_key key_;
    const std::string name_;
    weft::exit_reason why_;  // written once, before has_ended_
    weft::detail::atomic<bool> has_ended_{false};
};

}  // namespace weft::cluster::detail

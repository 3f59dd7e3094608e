// placed.hpp - a placed actor on one node: who runs it, its checkpoints, and how it leaves.
//
// The state is an entry of the store, /weft/CLUSTER/state/NAME, without a lease (placed_record). A fiber of the
// node, the keeper, does everything but run the actor:
//
//  phase     this node                                        leaves by
//  waiting   does not have the name                           the name has no owner, and it is this node's turn:
//                                                             a claim that succeeds -> starting
//  starting  has the name; reads the record, makes the actor  the actor is exposed -> running
//                                                             it cannot be made -> resting
//  running   the actor takes messages                         the name is lost: it is killed -> waiting
//                                                             the actor ends, or somebody else has changed the
//                                                             record: it is killed -> resting
//                                                             move() or end() -> leaving
//  leaving   the actor takes no new messages, handles those   it has given its last state, and that is stored:
//            that it has, and gives its last state            the name is released -> waiting
//                                                             the limit of move() is over -> running
//                                                             the limit of end() is over: it is killed, and the
//                                                             name released -> ended
//                                                             the name is lost, or the actor ends: as running
//  resting   the name is released, and left to other nodes    a while is over -> waiting
//  ended     by end()
//
// Invariants
//   PLACED-1  A life reads the record after its claim has succeeded, so the record does not change any more
//             for any life before.
//   PLACED-2  A record is stored by name_store::put_as_owner() with the token of its life, and the token of the
//             record before. So no life stores after a later one has begun, and none overwrites its own record
//             by an older one.
//   PLACED-3  The actor gives its last state after it has handled all messages that were accepted: new ones are
//             refused from before it is asked for that state until it has ended.
//   PLACED-4  While the actor lives, the name is not released; but one that does not end within a second after
//             its kill is left behind, and can store nothing any more.
//   PLACED-5  A life that has lost the name, or that could not store, gets killed; a message that waits for its
//             checkpoint is not answered.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <weft/cluster/placed.hpp>
#include <weft/condition_variable.hpp>
#include <weft/mutex.hpp>

#include "cluster/membership.hpp"
#include "cluster/placed_record.hpp"

namespace weft::cluster::detail {

class node_core;
using weft::detail::time_point;

class placed_core : public std::enable_shared_from_this<placed_core> {
public:
    /// \throws std::invalid_argument
    placed_core(node_core&, std::string_view name, const place_options&, const placed_kind&);

    /// The keeper, until end() or the end of the node.
    void run();
    /// Something may have changed: the name's owner, or whether this node has a lease.
    void wake() noexcept;
    void fence() noexcept;

    const std::string& name() const noexcept { return name_; }
    bool runs_here() noexcept;
    std::string move(std::string_view to, time_point until);
    void ask_to_end() noexcept;
    bool has_ended() noexcept;
    /// \parks for up to the placement's limit
    void end() noexcept;

private:
    using lock = std::unique_lock<weft::mutex>;
    using nanoseconds = std::chrono::nanoseconds;
    class life;

    /// A wish that the actor leaves this node. In the frame of the fiber that waits for it.
    struct departure {
        std::string to;  ///< a node; empty: any
        time_point until;
        std::uint64_t token = 0;  ///< of the life that leaves
        bool has_left = false;
        bool is_over = false;
    };
    /// Why a life is over.
    enum class outcome : std::uint8_t { lost, failed, left, killed };

    bool wait_for_turn(nanoseconds rest);
    std::optional<nanoseconds> turn();
    bool rest_for(nanoseconds);
    nanoseconds live(const std::shared_ptr<held_name>&, std::uint64_t serial, nanoseconds rest_before);
    bool begin(const held_name&, const std::shared_ptr<life>&, std::uint64_t serial);
    outcome keep(const held_name&, life&, std::uint64_t serial);
    bool store(lock&, const held_name&, life&);
    time_point let_leave(lock&, life&, std::uint64_t serial);
    void tell(bool has_left) noexcept;
    void finish(bool has_left) noexcept;
    void set_doors(lock&, std::uint64_t serial, bool open);
    time_point ask_for_state(life&);
    std::optional<std::uint64_t> put(const std::string& text, std::uint64_t before, const held_name&,
                                     std::exception_ptr& failure);
    void touch() noexcept;
    void report(const exit_reason&);
    bool holds(const held_name&);
    std::string state_key() const;

    node_core& node_;
    const std::string name_, actor_name_;
    const place_options options_;
    const placed_kind kind_;

    weft::mutex lock_;  // guards what follows
    weft::condition_variable changed_;
    std::uint64_t events_ = 0;  // grows with each change
    bool ends_ = false;  // by end()
    time_point end_until_{};
    bool has_begun_ = false, has_ended_ = false;  // the keeper has
    std::shared_ptr<life> now_;  // running or leaving; null otherwise
    departure* departure_ = nullptr;
};

}  // namespace weft::cluster::detail

// node.hpp - one process of a cluster: it exposes its actors, and finds those of other nodes.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <weft/actor.hpp>
#include <weft/cluster/group.hpp>
#include <weft/cluster/name_lease.hpp>
#include <weft/cluster/name_store.hpp>
#include <weft/cluster/remote_ref.hpp>
#include <weft/cluster/transport.hpp>
#include <weft/detail/export.hpp>

namespace weft::cluster {

/// How a node takes part. See docs/guide/27-many-machines.md.
struct node_options {
    std::string name;     ///< 1 to 64 letters, digits, '-' and '_'; unique in the cluster
    std::string cluster;  ///< nodes of other clusters on the same server are not seen
    std::shared_ptr<transport> words = {};  ///< required
    /// Tells which nodes live, and which actor has a name. Without it a node is taken for dead by its silence, and there are no
    /// names of the cluster.
    std::shared_ptr<name_store> names = {};
    /// How long the node is taken to live without a word to the store; at least two seconds. It is renewed
    /// every third of that, and the node gives its names up a fifth of it, and at least a second, before it
    /// ends.
    std::chrono::nanoseconds lease = std::chrono::seconds(10);
    /// The contact with a node from which nothing is heard for so long, while something is expected of it, is
    /// lost.
    std::chrono::nanoseconds give_up = std::chrono::seconds(30);
    /// How often nodes compare what was sent with what was seen, while that matters.
    std::chrono::nanoseconds beat = std::chrono::milliseconds(500);
    /// How many messages to one actor may be under way from one other node: sent, and not yet in its mailbox.
    /// 2 to 65536.
    std::uint32_t credit = 64;
    /// At most transport::max_payload() less 4 KiB.
    std::size_t max_message_bytes = (std::size_t{1} << 20) - 4096;
};

/// What a node has done since it was made.
struct node_stats {
    std::uint64_t sent = 0, received = 0;  ///< messages, answers and what nodes tell each other about actors
    std::uint64_t epochs_begun = 0, epochs_lost = 0;
    std::uint64_t refused = 0;  ///< batches of bytes that no node of this release writes
    std::size_t nodes = 0;  ///< with which there is contact
    std::size_t suspected = 0;  ///< of these: from which nothing was heard for three beats
    std::size_t exposed = 0;  ///< actors
    std::size_t links = 0;  ///< between actors of this node and others; made by either
};

/// One process of a cluster. Made on a fiber; its own fibers end with it.
///
///     weft::cluster::node me({.name = "a1", .cluster = "bank", .words = words});
///     auto ann = me.expose(weft::spawn_actor<account>({.name = "ann"}, 100));
///     auto bob = me.find<account>("a2", "bob", 2s);
///     int cents = bob.ask(account::balance{}, 1s);
class WEFT_EXPORT node {
public:
    /// \parks  with a store of names: until the node has a lease, for up to give_up. If it has none by then,
    ///         it goes on trying, and what needs a lease throws error (no_lease) meanwhile.
    /// \throws error (bad_name); std::invalid_argument for other options; what the transport throws.
    explicit node(node_options);
    node(node&&) noexcept;
    node& operator=(node&&) noexcept;
    /// As close(). \parks
    ~node();

    /// Lets other nodes send the actor what its class lists in `remote`, and find it by its name, if it has
    /// one. It is held until it ends, is unexposed, or the node is closed.
    /// \throws error: closed, no_lease; actor_gone
    template <class A>
    remote_ref<A> expose(const actor_ref<A>& actor) {
        return {core(), detail::expose(*core(), actor.ref(), detail::wire_table_of<A>::entries)};
    }
    /// Monitors of other nodes are told; links stay until one of the actors or the contact ends.
    template <class A>
    void unexpose(const remote_ref<A>& actor) noexcept {
        if (core_) detail::unexpose(*core_, actor.address());
    }
    /// Asks a node, which may be this one, for its actor of that name. The limit is a duration or a point in
    /// time.
    /// \parks   until the node has answered.
    /// \throws  error: unreachable if no node has that name; not_exposed; wrong_actor. timeout_error;
    ///          weft::cancelled.
    template <class A, weft::detail::time_limit Limit>
    [[nodiscard]] remote_ref<A> find(std::string_view on, std::string_view actor, const Limit& limit) {
        return {core(), detail::find(*core(), on, actor, detail::wire_table_of<A>::entries, weft::detail::deadline_of(limit))};
    }

    /// Claims a name of the cluster for an actor that this node exposes.
    ///
    ///     if (auto lease = me.claim("bank/ann", ann)) act_as_owner(lease->token());
    ///
    /// \returns  the lease of the name; empty if another one has it.
    /// \parks    until the store has answered, for as long as the node has its lease.
    /// \throws   error: no_lease, no_names, not_exposed, bad_name; weft::cancelled.
    template <class A>
    [[nodiscard]] std::optional<name_lease> claim(std::string_view name, const remote_ref<A>& actor) {
        return detail::claim_name(*core(), name, actor.address());
    }
    /// \returns  the actor that has a name of the cluster now. What is sent by this reference after the actor has
    ///           lost the name is refused: error (not_owner). A name_ref looks up again by itself.
    /// \parks    until the store has answered.
    /// \throws   error: unknown_name, no_names, bad_name; std::system_error if the store is out of reach;
    ///           weft::cancelled.
    template <class A>
    [[nodiscard]] remote_ref<A> find(std::string_view name) {
        return {core(), detail::find_name(*core(), name)};
    }

    /// Lets an actor that this node exposes get messages to a group, until it leaves the group, ends, or is no
    /// longer exposed. To join twice is to join once. Names of groups have words with dots between them.
    /// \parks   until the transport has subscribed. \throws error: bad_name, not_exposed, closed, no_lease; what
    ///          the transport throws; weft::cancelled
    template <class A>
    void join_group(std::string_view group, const remote_ref<A>& actor) {
        detail::join_group(*core(), group, actor.address());
    }
    template <class A>
    void leave_group(std::string_view group, const remote_ref<A>& actor) noexcept {
        if (core_) detail::leave_group(*core_, group, actor.address());
    }
    /// \returns a group whose members are actors A on any nodes.
    template <class A>
    [[nodiscard]] group_ref<A> group(std::string_view name) const {
        return {core(), name};
    }

    /// Tells the other nodes, ends all contact, and refuses what comes later. \parks
    void close() noexcept;
    [[nodiscard]] const std::string& name() const noexcept;
    /// \returns which life of the node this is; 0 while it has no lease.
    [[nodiscard]] std::uint64_t incarnation() const;
    [[nodiscard]] node_stats stats() const;

private:
    friend const std::shared_ptr<detail::node_core>& detail::core_of(const node&);
    const std::shared_ptr<detail::node_core>& core() const { return detail::core_of(*this); }

    std::shared_ptr<detail::node_core> core_;
};

}  // namespace weft::cluster

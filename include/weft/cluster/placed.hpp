// placed.hpp - actors that run on one node of the cluster at a time, and whose state outlives it.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include <weft/actor_attributes.hpp>
#include <weft/cluster/detail/placed_actor.hpp>
#include <weft/cluster/node.hpp>
#include <weft/detail/export.hpp>
#include <weft/detail/timeouts.hpp>
#include <weft/exit_reason.hpp>

namespace weft::cluster {

/// A class whose objects can be placed: `state` has a name and a wire format, as messages have; the object is
/// made from start<state>; save() returns its state, and is called between two messages; `remote` lists the
/// messages that it takes. The class must not be `final`, because weft derives from it.
///
///     struct ledger {
///         using state = ledger_state;
///         using remote = weft::cluster::messages<pay, balance>;
///         explicit ledger(weft::cluster::start<ledger_state> from) : now_(from.state.value_or(ledger_state())) {}
///         ledger_state save() const { return now_; }
///         ...
///     };
template <class A>
concept placeable = !std::is_final_v<A> && requires(const A& a) {
    typename A::remote;
    typename A::state;
    { a.save() } -> std::convertible_to<typename A::state>;
} && std::constructible_from<A, start<typename A::state>>;

/// When the state of a placed actor is stored.
enum class checkpoint : std::uint8_t {
    /// At most once in place_options::every, if a message was handled since; the actor does not wait for the
    /// store. A node that dies takes with it what was handled since the last one.
    in_background,
    /// After each message and before its answer, which waits for it. Nothing that was answered is lost; each
    /// message costs a write to the store.
    before_answer
};

/// How an actor is placed. See docs/guide/27-many-machines.md.
struct place_options {
    checkpoint when = checkpoint::in_background;
    std::chrono::nanoseconds every = std::chrono::seconds(1);  ///< longer than zero; for in_background
    /// A larger state ends the actor. An etcd with its own settings takes a little more than a mebibyte.
    std::size_t max_state_bytes = std::size_t{1} << 20;
    /// Attributes of the actor. Without a name it gets that of the placement. `overflow` must be `park`.
    actor_attributes actor = {};
    /// How long end() and node::close() wait until the actor has handled what it has accepted, and its last
    /// state is stored. An actor that takes longer is killed.
    std::chrono::nanoseconds shutdown = std::chrono::seconds(5);
    /// Called when the actor has ended on this node, or could not begin, and neither a move nor an end was
    /// asked for. It runs on a fiber of the node; what it throws is ignored.
    std::function<void(std::string_view name, const exit_reason&)> on_end = {};
};

/// What place() returns: this node's part in a placed actor. Move-only; its destructor calls end(). One that was
/// moved from may only be assigned to or destroyed.
class WEFT_EXPORT placement {
public:
    /// Internal: for weft's own parts.
    placement(std::shared_ptr<detail::node_core> by, std::shared_ptr<detail::placed_core> what) noexcept;
    placement(placement&&) noexcept;
    placement& operator=(placement&&) noexcept;
    ~placement();

    /// \throws error (closed) if it was moved from
    [[nodiscard]] const std::string& name() const;
    /// \returns whether the actor runs on this node: a snapshot.
    [[nodiscard]] bool runs_here() const noexcept;
    /// Moves the actor, which must run on this node, to another one that has placed it. It handles what it has
    /// accepted, its state is stored, and the other node begins with that. Meanwhile asks by a name_ref wait at
    /// their senders; a send that is under way is refused. If that node does not claim the name within two
    /// seconds, another one does. The limit is a duration or a point in time.
    /// \returns  the node that has the name now.
    /// \parks    until a node has it.
    /// \throws   error (not_owner) if the actor does not run here, or has ended before it was moved; error
    ///           (bad_name); timeout_error and weft::cancelled: the move may happen or not, and runs_here() tells.
    template <weft::detail::time_limit Limit>
    std::string move(std::string_view to, const Limit& limit) {
        return move_until(to, weft::detail::deadline_of(limit));
    }
    /// Ends the part of this node. If the actor runs here, it handles what it has accepted, its state is stored,
    /// and another node that has placed it may begin at once.
    /// It waits for the actor and for on_end, so neither may call it; nor may they close the node.
    /// \parks for up to place_options::shutdown; two seconds longer if the store does not answer
    void end() noexcept;

private:
    std::string move_until(std::string_view to, weft::detail::time_point until);
    detail::placed_core& core() const;

    std::shared_ptr<detail::node_core> by_;
    std::shared_ptr<detail::placed_core> what_;
};

/// Lets this node run an actor of the cluster. Each node that may run it places it under the same name, and the
/// one that gets the name runs it, from the last state that was stored. If that node dies or loses its lease, or
/// the actor ends, a node that has placed it starts it again, perhaps the same one. Send to it by a name_ref, also
/// from the node that runs it.
///
///     auto p = weft::cluster::place<ledger>(me, "bank/ledger", {.when = weft::cluster::checkpoint::before_answer});
///     weft::cluster::name_ref<ledger> books(me, "bank/ledger");
///     books.ask(pay{5}, 5s);
///
/// What is promised: of two lives of the actor, the later one begins with the last state that was stored for the
/// earlier one, and no state of the earlier one is stored after that; not even if its process was stopped
/// meanwhile and goes on. Such a process may run the earlier life until its next park point. So each write to
/// another system should carry start::token, and that system should refuse one that is smaller than it has seen.
///
/// A checkpoint follows a message from a node. What the actor does at messages that it sends to itself is in the
/// next one. The runtime's end is for a placed actor as the death of its process: close the node before.
///
/// \parks   while the node starts a fiber. It does not wait until the actor runs.
/// \throws  error: no_names, bad_name, closed; std::invalid_argument if `every`, `shutdown` or `max_state_bytes`
///          is not positive, if `overflow` is not `park`, and if this node has placed that name already.
template <placeable A>
[[nodiscard]] placement place(node& by, std::string_view name, const place_options& options = {}) {
    const auto& core = detail::core_of(by);
    return {core, detail::place(*core, name, options, detail::placed_kind_of<A>)};
}

}  // namespace weft::cluster

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
/// made from start<state>; save() gives its state, and is called between two messages; `remote` lists what it
/// takes. It is not final.
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
    /// Once in place_options::every while messages are handled, beside the actor. A node that dies takes with
    /// it what was handled since.
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
    /// Of the actor. Its name is that of the placement, if none is given.
    actor_attributes actor = {};
    /// How long end() and node::close() give the actor to handle what it has accepted, and the store to take
    /// its last state.
    std::chrono::nanoseconds shutdown = std::chrono::seconds(5);
    /// Called when the actor has ended on this node, or could not begin, and neither a move nor an end was
    /// asked for. It runs on a fiber of the node; what it throws is ignored.
    std::function<void(std::string_view name, const exit_reason&)> on_end = {};
};

/// What place() gives: this node's part in a placed actor. Move-only; its destructor is end().
class WEFT_EXPORT placement {
public:
    /// Internal: for weft's own parts.
    placement(std::shared_ptr<detail::node_core> by, std::shared_ptr<detail::placed_core> what) noexcept;
    placement(placement&&) noexcept;
    placement& operator=(placement&&) noexcept;
    ~placement();

    [[nodiscard]] const std::string& name() const noexcept;
    /// \returns whether the actor runs on this node: a snapshot.
    [[nodiscard]] bool runs_here() const noexcept;
    /// Moves the actor, which must run on this node, to another one that has placed it. It handles what it has
    /// accepted, its state is stored, and the other node begins with that. Meanwhile messages wait at their
    /// senders, if these use a name_ref and ask; a send that is under way is refused. Another node takes the
    /// actor if that one does not within two seconds. The limit is a duration or a point in time.
    /// \returns  the node that has it now.
    /// \parks    until a node has it.
    /// \throws   error (not_owner) if it does not run here; (bad_name); timeout_error: it still runs here, or a
    ///           node will take it later; weft::cancelled, as timeout_error.
    template <weft::detail::time_limit Limit>
    std::string move(std::string_view to, const Limit& limit) {
        return move_until(to, weft::detail::deadline_of(limit));
    }
    /// This node runs the actor no longer. If it does now, the actor handles what it has accepted, its state is
    /// stored, and another node that has placed it may begin at once. \parks for up to place_options::shutdown
    void end() noexcept;

private:
    std::string move_until(std::string_view to, weft::detail::time_point until);

    std::shared_ptr<detail::node_core> by_;
    std::shared_ptr<detail::placed_core> what_;
};

/// Lets this node run an actor of the cluster, under a name that it has to itself. Each node that may run it
/// places it, and the one that gets the name runs it, from the last state that was stored. If that node dies,
/// loses its lease, or the actor ends, another one goes on. Messages reach it by a name_ref, on its own node,
/// too.
///
///     auto p = weft::cluster::place<ledger>(me, "bank/ledger", {.when = weft::cluster::checkpoint::before_answer});
///     weft::cluster::name_ref<ledger> books(me, "bank/ledger");
///     books.ask(pay{5}, 5s);
///
/// What is promised: of two lives of the actor, the later one begins with the last state that was stored for the
/// earlier one, and no state of the earlier one is stored after that; not even if its node was stopped
/// meanwhile and goes on. What an actor does elsewhere, and not by its state, should carry start::token.
///
/// \parks   while the node starts a fiber. It does not wait until the actor runs.
/// \throws  error: no_names, bad_name, closed; std::invalid_argument for other options, and if this node has
///          placed one of that name already.
template <placeable A>
[[nodiscard]] placement place(node& by, std::string_view name, const place_options& options = {}) {
    const auto& core = detail::core_of(by);
    return {core, detail::place(*core, name, options, detail::placed_kind_of<A>)};
}

}  // namespace weft::cluster

// actor_attributes.hpp - how an actor is made: its name, its mailbox, its stack, its thread.
#pragma once

#include <weft/detail/requirements.hpp>

#include <cstddef>
#include <string_view>

#include <weft/channel.hpp>
#include <weft/migrate.hpp>
#include <weft/overflow.hpp>
#include <weft/priority.hpp>

namespace weft {

/// How an actor is made: `weft::spawn_actor<account>({.name = "ann", .mailbox = 100}, 250)`. See
/// docs/guide/10-actors.md.
struct actor_attributes {
    std::string_view name = {};  ///< for errors, reports and dumps; copied
    std::size_t mailbox = unbounded;  ///< how many messages it holds; at least 1
    /// What happens to a message for which there is no room. back_off is refused.
    weft::overflow overflow = overflow::park;
    std::size_t stack_bytes = 0;  ///< as attributes::stack_bytes
    /// As attributes::move; own_carrier gives this actor a thread of its own.
    migrate move = migrate::always;
    /// As attributes::preempt; if false, handlers keep their worker while they compute or block.
    bool preempt = true;
    /// As attributes::priority. If none is given: that of the fiber that starts the actor.
    detail::priority_choice priority = {};
};

}  // namespace weft

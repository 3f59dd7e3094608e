// linked_exit.hpp - what a class actor is sent when an actor it is linked with has failed.
#pragma once

#include <weft/detail/requirements.hpp>

#include <string>

#include <weft/exit_reason.hpp>

namespace weft {

/// Sent to a class actor, if it has a handler for it, when an actor it is linked with ends
/// abnormally. Without such a handler the class actor fails too. See docs/guide/10-actors.md.
struct linked_exit {
    std::string actor;  ///< the name of the actor that has ended
    exit_reason reason;
};

}  // namespace weft

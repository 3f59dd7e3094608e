// error.hpp - what can go wrong between nodes.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

#include <stdexcept>
#include <string>
#include <system_error>

namespace weft::cluster {

/// The failures of a cluster that are its own.
enum class errc {
    bad_name = 1,     ///< a node, a cluster, a group or a topic has a name that no subject can hold
    unreachable,      ///< there was no answer from the node within node_options::give_up, or nobody has its name
    node_gone,        ///< the other node has ended, or the contact was lost after the message was sent
    unknown_message,  ///< the actor does not list that message in its `remote`
    bad_version,      ///< no version of the message is known to both nodes
    too_large,        ///< more than node_options::max_message_bytes
    not_exposed,      ///< the node has no such actor
    wrong_actor,      ///< the actor of that name is of another type
    bad_message,      ///< the bytes are no message of that type
    failed_remotely,  ///< the handler on the other node threw; what() has its text
    expired,          ///< the message's turn came after the end of the ask's time limit
    not_answered,     ///< the actor took the message and did not answer
    closed,           ///< the node was closed
    no_names,         ///< node_options::names was not given
    no_lease,         ///< the node has no lease now: the store was out of reach for too long, or is so since the start
    not_owner,        ///< the actor was found by a name that it does not have any more
    unknown_name,     ///< nobody has that name now
};

WEFT_EXPORT const std::error_category& error_category() noexcept;

inline std::error_code make_error_code(errc e) noexcept { return {static_cast<int>(e), error_category()}; }

}  // namespace weft::cluster

template <>
struct std::is_error_code_enum<weft::cluster::errc> : std::true_type {};

namespace weft::cluster {

/// What sends and asks to other nodes throw, besides timeout_error, cancelled and actor_gone. what() names
/// the node.
class WEFT_EXPORT error : public std::system_error {
public:
    error(errc why, const std::string& what, bool maybe_handled)
        : std::system_error(make_error_code(why), what), maybe_handled_(maybe_handled) {}

    /// Whether the other actor may have handled the message, or may still do so. If false, it was not
    /// handled.
    [[nodiscard]] bool maybe_handled() const noexcept { return maybe_handled_; }

private:
    bool maybe_handled_;
};

}  // namespace weft::cluster

// exit_reason.hpp - why an actor has ended, and the errors that tell of it.
#pragma once

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>

namespace weft {

/// normal:  its function returned; or its mailbox was closed, by close() or with the last reference, and is empty.
/// stopped: by stop(), or by its supervisor.
/// killed:  by kill(), or with its runtime.
/// failed:  a handler threw; or an actor it was linked with ended abnormally.
enum class exit_kind : std::uint8_t { normal, stopped, killed, failed };

/// The message of a monitor.
struct exit_reason {
    exit_kind kind = exit_kind::normal;
    std::exception_ptr failure = {};  ///< what was thrown, if it failed

    /// Killed or failed: what links hand on, and what has a transient child restarted.
    bool abnormal() const noexcept { return kind == exit_kind::killed || kind == exit_kind::failed; }
    /// "normal", "stopped", "killed", or "failed: " and the text of the failure.
    std::string what() const;
    ~exit_reason();
};

/// Thrown by sends and asks to an actor that has ended, and by an ask whose actor ended before it answered.
class actor_gone : public std::runtime_error {
public:
    actor_gone(std::string_view actor, exit_reason why);
    const exit_reason& reason() const noexcept { return why_; }

private:
    exit_reason why_;
};

/// What an actor fails with because one it was linked with has ended abnormally.
class linked_failure : public std::runtime_error {
public:
    linked_failure(std::string_view actor, exit_reason why);
    /// Why the other has ended.
    const exit_reason& reason() const noexcept { return why_; }

private:
    exit_reason why_;
};

/// Thrown by an ask if the actor took the message and went on without answering it: a function actor that did not reply().
class no_reply : public std::runtime_error {
public:
    explicit no_reply(std::string_view actor);
};

/// An actor waits for itself, directly or through others: it asks, and who is asked waits for its answer; or it waits for room in
/// its own mailbox.
class actor_deadlock : public std::logic_error {
public:
    explicit actor_deadlock(const std::string& who_waits_for_whom);
};

}  // namespace weft

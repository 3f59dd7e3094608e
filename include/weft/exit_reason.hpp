// exit_reason.hpp - why an actor has ended, and the errors that say so.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>

namespace weft {

/// How an actor has ended.
///
/// normal:  its function returned; or its mailbox is empty and was closed, by close() or with the
///          last reference.
/// stopped: by stop(), or by its supervisor.
/// killed:  by kill(), or with its runtime.
/// failed:  a handler threw; or an actor it was linked with ended abnormally.
enum class exit_kind : std::uint8_t { normal, stopped, killed, failed };

/// What the receiver of a monitor gets.
///
///     auto why = ann.monitor().receive();  // ann: an actor_ref; waits for the actor's end
///     if (why->abnormal()) std::cerr << why->what() << '\n';
struct WEFT_EXPORT exit_reason {
    exit_kind kind = exit_kind::normal;
    /// What was thrown, if the actor failed; of a process that was killed, the signal.
    std::exception_ptr failure = {};

    /// Whether the actor was killed or has failed. Links hand on such an end, and a transient child
    /// is restarted after one.
    [[nodiscard]] bool abnormal() const noexcept { return kind == exit_kind::killed || kind == exit_kind::failed; }
    /// \returns "normal", "stopped", "killed", or "failed: " and the text of the failure; of a
    ///          process that was killed, also the signal.
    [[nodiscard]] std::string what() const;
    ~exit_reason();
};

/// Thrown by sends and asks to an actor that has ended, and by an ask whose actor ended before it
/// answered. See docs/guide/10-actors.md.
class WEFT_EXPORT actor_gone : public std::runtime_error {
public:
    actor_gone(std::string_view actor, exit_reason why);
    [[nodiscard]] const exit_reason& reason() const noexcept { return why_; }

private:
    exit_reason why_;
};

/// What an actor fails with when an actor it was linked with has ended abnormally. See
/// docs/guide/10-actors.md.
class WEFT_EXPORT linked_failure : public std::runtime_error {
public:
    linked_failure(std::string_view actor, exit_reason why);
    /// \returns why the other actor has ended.
    [[nodiscard]] const exit_reason& reason() const noexcept { return why_; }

private:
    exit_reason why_;
};

/// Thrown by an ask if the actor took the message and went on without answering it: a function
/// actor that did not call reply(). See docs/guide/10-actors.md.
class WEFT_EXPORT no_reply : public std::runtime_error {
public:
    explicit no_reply(std::string_view actor);
};

/// Thrown in an actor that would wait for itself, directly or through others: it asks an actor that
/// waits for its answer, or it waits for room in its own mailbox. what() names the circle. See
/// docs/guide/10-actors.md.
class WEFT_EXPORT actor_deadlock : public std::logic_error {
public:
    explicit actor_deadlock(const std::string& who_waits_for_whom);
};

}  // namespace weft

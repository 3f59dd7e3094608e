// actor_core.hpp - an actor as its typed wrapper sees it: messages, a program, and the core.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <string_view>
#include <typeinfo>
#include <utility>

#include <weft/actor_attributes.hpp>
#include <weft/channel.hpp>
#include <weft/detail/clock.hpp>
#include <weft/detail/export.hpp>
#include <weft/exit_reason.hpp>

namespace weft {

class runtime;

namespace detail {

class actor_core;
class scheduler;
struct asker;

/// A message on its way. It belongs to its sender until it is posted, then to the mailbox, then to
/// the fiber of its actor.
class WEFT_EXPORT message {
public:
    message() noexcept = default;
    message(const message&) = delete;
    message& operator=(const message&) = delete;
    virtual ~message() = default;

    /// Calls the handler of a class actor and answers the asker, if there is one.
    /// \throws what the handler throws
    virtual void handle(void* actor, actor_core&) = 0;
    virtual const std::type_info& type() const noexcept = 0;
    virtual void* value() noexcept = 0;

    /// Whether it was sent by an ask, even if the asker waits no longer.
    bool is_asked() const noexcept { return asked_; }

private:
    friend class mailbox_core;
    message* next_ = nullptr;
    message* previous_ = nullptr;
    // The asker that waits for the answer, in its frame.
    asker* asker_ = nullptr;
    bool asked_ = false;  // there is or was an asker
};

/// What an actor does. Made together with the actor; destroyed when the actor has ended for good.
class WEFT_EXPORT actor_program {
public:
    virtual ~actor_program() = default;
    /// Runs one life of the actor on its fiber, from the construction of the object to its end.
    /// \throws what ends the actor
    virtual void run(actor_core&) = 0;
    /// The type A of actor_ref<A>.
    virtual const std::type_info& type() const noexcept = 0;
    /// Makes the message that a class actor with a handler for linked_exit gets, instead of
    /// failing, when an actor it is linked with has failed. Null: it fails.
    using exit_message = std::unique_ptr<message>(std::string_view actor, const exit_reason& why);
    virtual exit_message* on_linked_end() const noexcept = 0;
};

/// The result counts as one reference. \throws std::invalid_argument for a mailbox without room
WEFT_EXPORT actor_core* make_actor(const actor_attributes&, std::unique_ptr<actor_program>);
// Starts it in the runtime of the calling fiber; on a plain thread panics with `what`.
WEFT_EXPORT void start_actor(actor_core&, std::string_view what);
WEFT_EXPORT void start_actor(actor_core&, const runtime&);
WEFT_EXPORT void add_actor_ref(actor_core&) noexcept;
WEFT_EXPORT void drop_actor_ref(actor_core&) noexcept;
/// The actor whose fiber calls, with a reference. Called elsewhere, stops the program with a
/// message that names `what`.
WEFT_EXPORT actor_core* add_ref_to_self(std::string_view what) noexcept;
WEFT_EXPORT actor_core& self_core(std::string_view what) noexcept;
WEFT_EXPORT void require_actor_type(const actor_core&, const std::type_info&) noexcept;

/// Sends a message.
/// \throws  actor_gone, cancelled, actor_deadlock, std::system_error (no_buffer_space)
/// \parks   with overflow::park, while there is no room.
WEFT_EXPORT void actor_send(actor_core&, std::unique_ptr<message>);

/// Reserves room for one message in a mailbox; tests false if there is none.
class WEFT_EXPORT reserved_room {
public:
    explicit reserved_room(actor_core&);
    ~reserved_room();
    reserved_room(const reserved_room&) = delete;
    reserved_room& operator=(const reserved_room&) = delete;

    explicit operator bool() const noexcept { return actor_ != nullptr; }
    /// Posts a message into the reserved room. If the actor has ended meanwhile, the message is a
    /// dead letter.
    void post(std::unique_ptr<message>) noexcept;

private:
    actor_core* actor_;
};

/// Where an asker wants the answer: a std::optional<R>, or nothing if R is void.
struct answer_place {
    void* place;
    const std::type_info& type;
    std::exception_ptr failure = {};  // thrown by the move of the answer
    // The actor that waits here, if it asks without a time limit and may so form a circle with
    // others.
    actor_core* asks_for_ever = nullptr;
};

/// Sends a message and waits for the answer.
/// \throws  timeout_error, actor_gone, no_reply, and what actor_send() throws
/// \parks   until there is an answer.
WEFT_EXPORT void actor_ask(actor_core&, std::unique_ptr<message>, answer_place&, time_point until);

/// The asker of a message, claimed by the constructor and woken by the destructor. Empty if it
/// waits no longer.
class WEFT_EXPORT answering {
public:
    answering(actor_core&, message&) noexcept;
    ~answering();
    answering(const answering&) = delete;
    answering& operator=(const answering&) = delete;

    answer_place* place() const noexcept;

private:
    asker* asker_;
};

// For the actor's own fiber.

/// Stops the program with a message: an object of a final class was sent a message for which it has
/// no handler.
WEFT_EXPORT [[noreturn]] void no_handler(const std::type_info& of_message) noexcept;
/// Handles messages until the actor is to end.
WEFT_EXPORT void serve(actor_core&, void* actor);
struct next_result {
    channel_op how;  // done, timeout, empty, or closed: no message will come any more
    std::unique_ptr<message> taken;  // null unless done
};
/// \returns  the next message, if one comes until then. It does not wait if that is `long_past`.
/// \parks    while there is none.
/// \throws   cancelled
WEFT_EXPORT next_result next_message(actor_core&, time_point until);
/// Takes the first message that `wanted` accepts; others stay. Otherwise as next_message().
WEFT_EXPORT next_result next_message_if(actor_core&, time_point until, bool (*wanted)(void*, message&), void* context);
/// Keeps the message that was taken, so that it can be answered, until the next message is taken.
WEFT_EXPORT message& keep_taken(actor_core&, std::unique_ptr<message>) noexcept;
WEFT_EXPORT message* taken(actor_core&) noexcept;
WEFT_EXPORT void drop_taken(actor_core&) noexcept;
/// How long stopping() may wait.
WEFT_EXPORT std::chrono::nanoseconds time_to_stop(const actor_core&) noexcept;

// For any thread.

WEFT_EXPORT void actor_close(actor_core&) noexcept;
WEFT_EXPORT void actor_stop(actor_core&) noexcept;
WEFT_EXPORT void actor_kill(actor_core&) noexcept;
WEFT_EXPORT bool actor_has_ended(const actor_core&) noexcept;
WEFT_EXPORT std::size_t actor_mailbox_size(actor_core&) noexcept;
WEFT_EXPORT std::string_view actor_name(const actor_core&) noexcept;
WEFT_EXPORT receiver<exit_reason> actor_monitor(actor_core&);
WEFT_EXPORT void actor_link(actor_core&, actor_core&);
WEFT_EXPORT void actor_unlink(actor_core&, actor_core&) noexcept;
WEFT_EXPORT bool actor_register(std::string_view name, actor_core&);
WEFT_EXPORT bool actor_unregister(std::string_view name) noexcept;
/// \returns the actor with a reference if it has that type; else null.
WEFT_EXPORT actor_core* actor_find(std::string_view name, const std::type_info&) noexcept;

/// A reference to an actor. Empty after a move.
class WEFT_EXPORT actor_core_ref {
public:
    actor_core_ref() noexcept = default;
    explicit actor_core_ref(actor_core* counted) noexcept : core_(counted) {}
    actor_core_ref(const actor_core_ref& other) noexcept : core_(other.core_) {
        if (core_) add_actor_ref(*core_);
    }
    actor_core_ref(actor_core_ref&& other) noexcept : core_(std::exchange(other.core_, nullptr)) {}
    actor_core_ref& operator=(actor_core_ref other) noexcept {
        std::swap(core_, other.core_);
        return *this;
    }
    ~actor_core_ref() {
        if (core_) drop_actor_ref(*core_);
    }

    explicit operator bool() const noexcept { return core_ != nullptr; }
    actor_core* get() const noexcept { return core_; }
    actor_core& core() const noexcept {
        if (!core_) empty_actor_ref();
        return *core_;
    }
    friend bool operator==(const actor_core_ref&, const actor_core_ref&) noexcept = default;

private:
    [[noreturn]] static void empty_actor_ref() noexcept;

    actor_core* core_ = nullptr;
};

}  // namespace detail
}  // namespace weft

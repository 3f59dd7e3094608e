// actor_core.hpp - an actor as its typed skin knows it: messages, a program that handles them, and the compiled core by name.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <string_view>
#include <typeinfo>
#include <utility>

#include <weft/channel.hpp>
#include <weft/detail/clock.hpp>
#include <weft/detail/migrate.hpp>
#include <weft/exit_reason.hpp>
#include <weft/overflow.hpp>

namespace weft {

class runtime;

/// How an actor is made.
struct actor_attributes {
    std::string_view name = {};                      ///< for errors, reports and dumps; copied
    std::size_t mailbox = unbounded;                 ///< how many messages it holds; at least 1
    weft::overflow overflow = overflow::park;        ///< what becomes of one for which there is no room
    std::size_t stack_bytes = 0;                     ///< as attributes::stack_bytes
    migrate move = migrate::always;                  ///< as attributes::move; own_carrier: a thread for this actor alone
};

namespace detail {

class actor_core;
class scheduler;
struct asker;

/// A message on its way: its sender's until it is posted, then the mailbox', then its actor's fiber's.
class message {
public:
    message() noexcept = default;
    message(const message&) = delete;
    message& operator=(const message&) = delete;
    virtual ~message() = default;

    /// Calls the handler of a class actor and answers who asks. \throws what the handler throws
    virtual void handle(void* actor, actor_core&) = 0;
    virtual const std::type_info& type() const noexcept = 0;
    virtual void* value() noexcept = 0;

    /// Whether it was sent by an ask, whatever has become of the asker.
    bool is_asked() const noexcept { return asked_; }

private:
    friend class mailbox_core;
    message* next_ = nullptr;
    message* previous_ = nullptr;
    asker* asker_ = nullptr;  // who waits for the answer, in its frame
    bool asked_ = false;      // there is, or was, an asker
};

/// What an actor does. Made with it; destroyed when it has ended for good.
class actor_program {
public:
    virtual ~actor_program() = default;
    /// One life, on its fiber: from the construction of the object to its end. \throws what ends the actor
    virtual void run(actor_core&) = 0;
    /// A of actor_ref<A>.
    virtual const std::type_info& type() const noexcept = 0;
    /// Makes the message to send instead of letting the actor fail, when one it is linked with has; null: it shall fail.
    using exit_message = std::unique_ptr<message>(std::string_view actor, const exit_reason& why);
    virtual exit_message* on_linked_end() const noexcept = 0;
};

/// Counts as one reference. \throws std::invalid_argument for a mailbox without room
actor_core* make_actor(const actor_attributes&, std::unique_ptr<actor_program>);
void start_actor(actor_core&, std::string_view what);           // in the runtime of the calling fiber; else panics with `what`
void start_actor(actor_core&, const runtime&);
void add_actor_ref(actor_core&) noexcept;
void drop_actor_ref(actor_core&) noexcept;
/// The actor whose fiber calls, with a reference. On others the program stops with a message that names `what`.
actor_core* add_ref_to_self(std::string_view what) noexcept;
actor_core& self_core(std::string_view what) noexcept;
void require_actor_type(const actor_core&, const std::type_info&) noexcept;

/// \throws actor_gone, cancelled, actor_deadlock, std::system_error (no_buffer_space) \parks with overflow::park, while there is no room
void actor_send(actor_core&, std::unique_ptr<message>);

/// Room for one message in a mailbox, if there is any.
class reserved_room {
public:
    explicit reserved_room(actor_core&);
    ~reserved_room();
    reserved_room(const reserved_room&) = delete;
    reserved_room& operator=(const reserved_room&) = delete;

    explicit operator bool() const noexcept { return actor_ != nullptr; }
    /// It is a dead letter if the actor has ended meanwhile.
    void post(std::unique_ptr<message>) noexcept;

private:
    actor_core* actor_;
};

/// What an asker leaves for the answer: a std::optional<R>, or nothing if R is void.
struct answer_place {
    void* place;
    const std::type_info& type;
    std::exception_ptr failure = {};  // thrown by the move of the answer
    actor_core* asks_for_ever = nullptr;  // the actor that waits here, if it may form a circle with others
};

/// Waits for the answer. \throws timeout_error, actor_gone, no_reply and as actor_send() \parks until there is one
void actor_ask(actor_core&, std::unique_ptr<message>, answer_place&, time_point until);

/// Who asks, from the moment it is claimed until it is woken; empty if nobody waits any more.
class answering {
public:
    answering(actor_core&, message&) noexcept;
    ~answering();
    answering(const answering&) = delete;
    answering& operator=(const answering&) = delete;

    answer_place* place() const noexcept;

private:
    asker* asker_;
};

// The actor's own fiber.

/// An object of a final class was sent what it has no handler for. The program stops with a message.
[[noreturn]] void no_handler(const std::type_info& of_message) noexcept;
/// Handles messages until it is to end.
void serve(actor_core&, void* actor);
/// The next message, or null: the time has passed, or no message will come. \parks while there is none \throws cancelled
std::unique_ptr<message> next_message(actor_core&, time_point until);
/// The first message that `wanted` accepts; others stay.
std::unique_ptr<message> next_message_if(actor_core&, time_point until, bool (*wanted)(void*, message&), void* context);
/// Keeps the message that was taken, so that it can be answered, until the next one is.
message& keep_taken(actor_core&, std::unique_ptr<message>) noexcept;
message* taken(actor_core&) noexcept;
void drop_taken(actor_core&) noexcept;
/// How long stopping() may wait.
std::chrono::nanoseconds time_to_stop(const actor_core&) noexcept;

// Any thread.

void actor_close(actor_core&) noexcept;
void actor_stop(actor_core&) noexcept;
void actor_kill(actor_core&) noexcept;
bool actor_has_ended(const actor_core&) noexcept;
std::size_t actor_mailbox_size(actor_core&) noexcept;
std::string_view actor_name(const actor_core&) noexcept;
receiver<exit_reason> actor_monitor(actor_core&);
void actor_link(actor_core&, actor_core&);
void actor_unlink(actor_core&, actor_core&) noexcept;
bool actor_register(std::string_view name, actor_core&);
bool actor_unregister(std::string_view name) noexcept;
/// With a reference, if it is of that type; else null.
actor_core* actor_find(std::string_view name, const std::type_info&) noexcept;

/// A reference to an actor. Empty after it was moved from.
class actor_core_ref {
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

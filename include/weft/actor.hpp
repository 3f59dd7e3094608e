// actor.hpp - objects that handle one message at a time, on a fiber of their own; see actor_ref.
//
// Rules
//   1  A message that send() has accepted is handled once, or becomes a dead letter
//      (dead_letter.hpp). Messages of one sender arrive in the order sent.
//   2  An actor ends when a handler throws, by stop() or kill(), or with its runtime. It also ends,
//      after it has handled what was sent, by close() or with its last reference unless it is
//      registered or supervised. started() is called before the first message. stopping() is called
//      before the destructor, whatever ends the actor, if started() has returned.
//   3  Constructor, handlers and destructor run on the actor's fiber and may wait for anything.
//      While a handler waits, further messages wait too.
//   4  References work from fibers of any runtime and from plain threads. They outlive actor and
//      runtime: sends and asks then throw actor_gone.
//   5  A link is used once: an actor that ends abnormally takes its linked actors with it. Such an
//      actor fails with linked_failure unless it has a handler for linked_exit.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include <weft/channel.hpp>
#include <weft/dead_letter.hpp>
#include <weft/detail/actor_core.hpp>
#include <weft/detail/actor_program.hpp>
#include <weft/detail/timeouts.hpp>
#include <weft/exit_reason.hpp>
#include <weft/mailbox.hpp>
#include <weft/runtime.hpp>

namespace weft {

/// Controls an actor, whatever its messages are. A handle: copies name the same actor.
///
///     weft::receiver<weft::exit_reason> end = ann.monitor();  // ann: any actor_ref
///     ann.close();
///     std::cout << end.receive()->what();
class actor_handle {
public:
    /// Ends the actor after the message it is handling; the messages behind that become dead
    /// letters. A supervisor may restart it.
    void stop() const noexcept { detail::actor_stop(ref_.core()); }
    /// Ends the actor after all messages it has accepted; it accepts no more. A supervisor may
    /// restart it: its mailbox is open again then.
    void close() const noexcept { detail::actor_close(ref_.core()); }
    /// Ends the actor now: its next park point throws weft::cancelled, and so does each one after
    /// that. A supervisor may restart it.
    void kill() const noexcept { detail::actor_kill(ref_.core()); }

    /// \returns a receiver that gets the reason once the actor has ended for good (at once if it
    ///          has already) and is closed then. A restart does not count as an end.
    [[nodiscard]] receiver<exit_reason> monitor() const { return detail::actor_monitor(ref_.core()); }
    /// \returns whether the actor has ended for good: a snapshot.
    [[nodiscard]] bool ended() const noexcept { return detail::actor_has_ended(ref_.core()); }
    /// \returns how many messages wait in the mailbox: a snapshot.
    [[nodiscard]] std::size_t size() const noexcept { return detail::actor_mailbox_size(ref_.core()); }
    [[nodiscard]] std::string_view name() const noexcept { return detail::actor_name(ref_.core()); }
    /// False once the handle was moved from; it may then only be assigned to, or destroyed.
    explicit operator bool() const noexcept { return static_cast<bool>(ref_); }

    friend bool operator==(const actor_handle&, const actor_handle&) noexcept = default;

    /// Internal: for weft's own parts.
    explicit actor_handle(detail::actor_core_ref ref) noexcept : ref_(std::move(ref)) {}
    const detail::actor_core_ref& ref() const noexcept { return ref_; }

private:
    detail::actor_core_ref ref_;
};

/// A reference to an actor: to an object A with handlers, or to a function that takes messages of
/// type A.
///
///     weft::actor_ref<account> ann = weft::spawn_actor<account>({.name = "ann"}, 100);
///     ann.send(account::deposit{250});            // calls account::handle(deposit), later
///     int cents = ann.ask(account::balance{});    // balance::reply is int
template <class A>
class actor_ref : public actor_handle {
public:
    using actor_handle::actor_handle;

    /// Puts a message into the actor's mailbox.
    ///
    /// \parks   while there is no room, with overflow::park.
    /// \throws  actor_gone; std::system_error (no_buffer_space) if there is no room, with
    ///          overflow::fail; actor_deadlock if an actor would wait for room in its own mailbox;
    ///          weft::cancelled if this fiber is asked to stop first. When it throws, nothing was
    ///          sent.
    /// \orders  the call happens before the message is handled.
    /// \cost    one allocation, one uncontended lock.
    template <class M>
        requires detail::takes<A, M>
    void send(M&& m) const {
        detail::actor_send(ref().core(), detail::make_message<A>(std::forward<M>(m)));
    }

    /// Sends the message only if the actor lives and there is room; drop_oldest makes room.
    /// Otherwise `m` is not moved from.
    ///
    /// \returns  true if the message was sent. Like any accepted message it may become a dead
    ///           letter.
    template <class M>
        requires detail::takes<A, M>
    bool try_send(M&& m) const {
        detail::reserved_room room(ref().core());
        if (!room) return false;
        room.post(detail::make_message<A>(std::forward<M>(m)));
        return true;
    }

    /// Sends a message and waits for its answer: for what the handler returns, or for what a
    /// function actor gives to reply().
    ///
    /// \returns  M::reply if M names that type; otherwise what the handler returns; for a function
    ///           actor, nothing.
    /// \parks    until the message is answered.
    /// \throws   actor_gone if the actor ends before it answers; timeout_error; no_reply;
    ///           actor_deadlock if the answer could never come, because actors ask each other
    ///           without a timeout; weft::cancelled; what send() throws. After a timeout or a
    ///           `cancelled` the message may still be handled.
    template <class M>
        requires detail::takes<A, M>
    auto ask(M&& m) const {
        return ask_until(std::forward<M>(m), detail::never);
    }
    /// The timeout is a duration or a point in time.
    template <class M, detail::time_limit Limit>
        requires detail::takes<A, M>
    auto ask(M&& m, const Limit& timeout) const {
        return ask_until(std::forward<M>(m), detail::deadline_of(timeout));
    }

private:
    template <class M>
    auto ask_until(M&& m, detail::time_point until) const {
        using R = detail::reply_of<A, M>;
        if constexpr (std::is_void_v<R>) {
            detail::answer_place nothing{nullptr, typeid(void)};
            detail::actor_ask(ref().core(), detail::make_message<A>(std::forward<M>(m)), nothing, until);
        } else {
            std::optional<R> result;
            detail::answer_place place{&result, typeid(R)};
            detail::actor_ask(ref().core(), detail::make_message<A>(std::forward<M>(m)), place, until);
            return R(std::move(*result));
        }
    }
};

namespace detail {

template <class A, class... Args>
actor_core_ref new_actor(const actor_attributes& a, Args&&... args) {
    return actor_core_ref(make_actor(a, make_program<A, lives::once>(std::forward<Args>(args)...)));
}

template <class... Args>
struct begins_with_argument : std::true_type {};
template <class First, class... Args>
struct begins_with_argument<First, Args...>
    : std::bool_constant<!std::convertible_to<First, const actor_attributes&> && !std::derived_from<First, runtime>> {};

/// The arguments of an actor that is started without attributes: the first one is neither
/// attributes nor a runtime.
template <class... Args>
concept arguments_only = begins_with_argument<std::remove_cvref_t<Args>...>::value;

}  // namespace detail

/// Starts an actor in the current runtime, or in `rt`. The actor is an object A(args...). If A has
/// no handlers, it is a function instead: the only argument, which is called with a mailbox<A>&.
/// Arguments are copied or moved.
///
///     auto echo = weft::spawn_actor<int>({.name = "echo"}, [](weft::mailbox<int>& in) {
///         for (int n : in) std::cout << n << '\n';
///     });
///     auto bob = weft::spawn_actor<account>(100);  // without attributes
///
/// \returns  a reference; the actor may not have begun yet. What its constructor throws ends it.
/// \parks    at max_fibers, as spawn() does. With at_limit::run_inline it parks as with
///           at_limit::park, because an actor outlives the call that starts it.
/// \throws   std::invalid_argument for a mailbox of 0 messages, and for overflow::back_off, which
///           is for channels; what spawn() throws. On a plain thread the program stops with a
///           message: name a runtime there.
template <class A, class... Args>
[[nodiscard]] actor_ref<A> spawn_actor(const actor_attributes& a, Args&&... args) {
    auto made = detail::new_actor<A>(a, std::forward<Args>(args)...);
    detail::start_actor(made.core(), "weft::spawn_actor");
    return actor_ref<A>(std::move(made));
}
template <class A, class... Args>
[[nodiscard]] actor_ref<A> spawn_actor(runtime& rt, const actor_attributes& a, Args&&... args) {
    auto made = detail::new_actor<A>(a, std::forward<Args>(args)...);
    detail::start_actor(made.core(), rt);
    return actor_ref<A>(std::move(made));
}
template <class A, class... Args>
    requires detail::arguments_only<Args...>
[[nodiscard]] actor_ref<A> spawn_actor(Args&&... args) {
    return spawn_actor<A>(actor_attributes{}, std::forward<Args>(args)...);
}
template <class A, std::derived_from<runtime> Runtime, class... Args>
    requires detail::arguments_only<Args...>
[[nodiscard]] actor_ref<A> spawn_actor(Runtime& rt, Args&&... args) {
    return spawn_actor<A>(rt, actor_attributes{}, std::forward<Args>(args)...);
}

/// \returns the actor whose fiber calls. The program stops with a message if the caller is not on
///          an actor's fiber, or if that actor is of another type. An actor that keeps a reference
///          to itself does not end with the last reference of others.
template <class A>
[[nodiscard]] actor_ref<A> self() {
    detail::actor_core_ref me(detail::add_ref_to_self("weft::self"));
    detail::require_actor_type(me.core(), typeid(A));
    return actor_ref<A>(std::move(me));
}

/// Links two actors: when one ends abnormally, so does the other (rule 5). To link them twice is to
/// link them once.
///
/// \throws  actor_gone if one of them has ended for good.
inline void link(const actor_handle& a, const actor_handle& b) { detail::actor_link(a.ref().core(), b.ref().core()); }
/// Takes the link between two actors away.
inline void unlink(const actor_handle& a, const actor_handle& b) noexcept {
    detail::actor_unlink(a.ref().core(), b.ref().core());
}

/// Gives an actor a name by which the whole process finds it, until it has ended for good.
///
/// \returns  false if the name is taken, or if the actor has a name already.
/// \throws   actor_gone if it has ended; std::invalid_argument for an empty name.
inline bool register_actor(std::string_view name, const actor_handle& a) { return detail::actor_register(name, a.ref().core()); }
/// Takes a name away from its actor. \returns false if no actor has the name.
inline bool unregister_actor(std::string_view name) { return detail::actor_unregister(name); }
/// \returns  the actor of that name, if there is one and it is an A.
template <class A>
[[nodiscard]] std::optional<actor_ref<A>> find_actor(std::string_view name) {
    detail::actor_core_ref found(detail::actor_find(name, typeid(A)));
    if (!found) return std::nullopt;
    return actor_ref<A>(std::move(found));
}

}  // namespace weft

template <>
struct std::hash<weft::actor_handle> {
    std::size_t operator()(const weft::actor_handle& a) const noexcept { return std::hash<const void*>{}(a.ref().get()); }
};
template <class A>
struct std::hash<weft::actor_ref<A>> : std::hash<weft::actor_handle> {};

// actor_program.hpp - the typed half of an actor: its messages and its program.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <weft/detail/actor_core.hpp>
#include <weft/linked_exit.hpp>
#include <weft/stop.hpp>

namespace weft {

template <class M>
class mailbox;

namespace detail {

struct named_handle {
    int handle;
};
template <class A>
struct handle_probe : A, named_handle {};

/// What A of actor_ref<A> is: an object with handlers, or the message of a function actor. A final
/// class may be either (unknown), since the language cannot distinguish several members of one name
/// from none; the arguments and messages decide then.
enum class actor_form : unsigned char { object, message, unknown };

/// If A has members called `handle`, of whatever form, the name is ambiguous in handle_probe.
template <class A>
constexpr actor_form form_of() {
    if constexpr (!std::is_class_v<A>)
        return actor_form::message;
    else if constexpr (std::is_final_v<A>)
        return requires { &A::handle; } ? actor_form::object : actor_form::unknown;
    else
        return requires { &handle_probe<A>::handle; } ? actor_form::message : actor_form::object;
}

template <class A, class M>
concept handles = form_of<A>() != actor_form::message && requires(A& a, std::decay_t<M>&& m) { a.handle(std::move(m)); };

/// True if an actor_ref<A> accepts messages of type M.
template <class A, class M>
concept takes = handles<A, M> || (form_of<A>() != actor_form::object && std::convertible_to<M, A>);

template <class A, class M>
auto reply_type() {
    if constexpr (requires { typename M::reply; })
        return std::type_identity<typename M::reply>{};
    else if constexpr (handles<A, M>)
        return std::type_identity<std::decay_t<decltype(std::declval<A&>().handle(std::declval<M>()))>>{};
    else
        return std::type_identity<void>{};
}
/// The type that asking A for M yields: M::reply if it exists, else what the handler returns.
template <class A, class M>
using reply_of = typename decltype(reply_type<A, std::decay_t<M>>())::type;

template <class R>
bool answer(actor_core& a, message& m, R&& result) {
    if (!m.is_asked()) return false;
    const answering to(a, m);
    auto* const p = to.place();
    if (!p) return false;
    try {
        static_cast<std::optional<std::decay_t<R>>*>(p->place)->emplace(std::forward<R>(result));
    } catch (...) {
        p->failure = std::current_exception();
    }
    return true;
}
inline bool answer(actor_core& a, message& m) noexcept { return m.is_asked() && answering(a, m).place() != nullptr; }

/// The message of a function actor, which takes the value out itself.
template <class M>
class plain_message : public message {
public:
    template <class... V>
    explicit plain_message(V&&... v) : value_(std::forward<V>(v)...) {}

    void handle(void*, actor_core&) override { no_handler(typeid(M)); }
    const std::type_info& type() const noexcept override { return typeid(M); }
    void* value() noexcept override { return std::addressof(value_); }

protected:
    M value_;
};

/// A message M for a class actor A.
template <class A, class M>
class handled_message final : public plain_message<M> {
public:
    using plain_message<M>::plain_message;

    void handle(void* actor, actor_core& core) override {
        using R = reply_of<A, M>;
        A& a = *static_cast<A*>(actor);
        if constexpr (std::is_void_v<R>) {
            a.handle(std::move(this->value_));
            answer(core, *this);
        } else {
            R result = a.handle(std::move(this->value_));
            answer(core, *this, std::move(result));
        }
    }
};

template <class A, class M>
std::unique_ptr<message> make_message(M&& m) {
    if constexpr (handles<A, M>)
        return std::make_unique<handled_message<A, std::decay_t<M>>>(std::forward<M>(m));
    else
        return std::make_unique<plain_message<A>>(std::forward<M>(m));
}

/// once: the arguments are moved into the only life of the actor. again: each life gets copies.
enum class lives : bool { once, again };

template <class A, lives Lives, class... Args>
class class_program final : public actor_program {
public:
    template <class... Given>
    explicit class_program(std::in_place_t, Given&&... args) : args_(std::forward<Given>(args)...) {}

    void run(actor_core& core) override {
        A actor(make());
        if constexpr (requires { actor.started(); }) actor.started();
        if constexpr (requires { actor.stopping(); }) {
            try {
                serve(core, &actor);
            } catch (...) {  // this ends the actor, whatever stopping() throws
                end(core, actor, std::true_type());
                throw;
            }
            end(core, actor, std::false_type());
        } else {
            serve(core, &actor);
        }
    }
    const std::type_info& type() const noexcept override {
        if constexpr (requires { typename A::weft_stands_for; })  // A derives from that, and adds no handlers for users
            return typeid(typename A::weft_stands_for);
        else
            return typeid(A);
    }
    exit_message* on_linked_end() const noexcept override {
        if constexpr (handles<A, linked_exit>)
            return [](std::string_view actor, const exit_reason& why) {
                return make_message<A>(linked_exit{std::string(actor), why});
            };
        else
            return nullptr;
    }

private:
    A make() {
        return std::apply(
            [](auto&... args) -> A {
                if constexpr (Lives == lives::once)
                    return A(std::move(args)...);
                else
                    return A(std::as_const(args)...);
            },
            args_);
    }
    template <bool Quiet>
    static void end(actor_core& core, A& actor, std::bool_constant<Quiet>) {
        const shield uninterrupted(time_to_stop(core));
        try {
            actor.stopping();
        } catch (...) {
            if constexpr (!Quiet) throw;
        }
    }

    std::tuple<Args...> args_;
};

template <class M, lives Lives, class F>
class function_program final : public actor_program {
public:
    template <class G>
    explicit function_program(std::in_place_t, G&& f) : f_(std::forward<G>(f)) {}

    void run(actor_core& core) override {
        F f(given());
        mailbox<M> in(core);
        std::invoke(f, in);
    }
    const std::type_info& type() const noexcept override { return typeid(M); }
    exit_message* on_linked_end() const noexcept override { return nullptr; }

private:
    decltype(auto) given() {
        if constexpr (Lives == lives::once)
            return std::move(f_);
        else
            return std::as_const(f_);
    }

    F f_;
};

template <class A, class... Args>
concept function_for = sizeof...(Args) == 1 && (std::invocable<std::decay_t<Args>&, mailbox<A>&> && ...);

template <class A, class... Args>
concept is_object = form_of<A>() == actor_form::object || (form_of<A>() == actor_form::unknown && !function_for<A, Args...>);

template <class A, lives Lives, class... Args>
std::unique_ptr<actor_program> make_program(Args&&... args) {
    if constexpr (is_object<A, Args...>) {
        static_assert(
            std::is_constructible_v<A, std::decay_t<Args>...>,
            "weft::spawn_actor: the actor cannot be made of these arguments (they are copied or moved into it; use std::ref to "
            "pass a reference)");
        static_assert(Lives == lives::once || (std::is_constructible_v<A, const std::decay_t<Args>&...> &&
                                               (std::copy_constructible<std::decay_t<Args>> && ...)),
                      "weft::supervisor: each restart makes the actor anew, from copies of these arguments");
        return std::make_unique<class_program<A, Lives, std::decay_t<Args>...>>(std::in_place, std::forward<Args>(args)...);
    } else {
        static_assert(function_for<A, Args...>,
                      "weft::spawn_actor: A has no member called handle, so it is the message type of a function actor: give a "
                      "function that takes weft::mailbox<A>&");
        return std::make_unique<function_program<A, Lives, std::decay_t<Args>...>>(std::in_place, std::forward<Args>(args)...);
    }
}

}  // namespace detail
}  // namespace weft

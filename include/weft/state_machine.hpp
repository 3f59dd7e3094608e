// state_machine.hpp - an object in one of several states, each a type, which decide what events do.
//
// Rules
//   1  A state S takes an event E by a member `on(E)`, const or not. It returns nothing, to stay,
//      or the next state: a state, or a std::variant or std::optional of states.
//   2  When a state is left, its left() is called, and then entered() of the next one, if they have
//      such members. The first state, too, is entered.
//   3  An event for which the current state has no on() goes to its on(unexpected<E>), if there is
//      one. Otherwise handle() throws unexpected_event and nothing changes.
//   4  A state machine can be used as a class actor without change:
//      spawn_actor<state_machine<closed, open>>(...). Used alone, it is for one fiber at a time.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

#include <concepts>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <variant>

namespace weft {

/// Thrown by handle() when the current state has nothing for the event. See
/// docs/guide/10-actors.md.
class WEFT_EXPORT unexpected_event : public std::logic_error {
public:
    unexpected_event(const std::type_info& state, const std::type_info& event)
        : std::logic_error("weft: state " + std::string(state.name()) + " has nothing for event " + event.name()) {}
};

/// What a state gets in place of an event that it does not know:
///
///     template <class E> void on(const weft::unexpected<E>&) {}  // a state that ignores the rest
template <class E>
struct unexpected {
    const E& event;
};

namespace detail {

template <class S, class E>
concept expects = requires(S& s, E& e) { s.on(e); };
template <class S, class E>
concept expects_unexpected = requires(S& s, const E& e) { s.on(unexpected<E>{e}); };

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
inline constexpr bool is_variant = false;
template <class... T>
inline constexpr bool is_variant<std::variant<T...>> = true;

}  // namespace detail

/// An object that is in one of its states. It begins in the first of them.
///
///     weft::state_machine<locked, unlocked> gate;  // locked::on(coin) returns an unlocked
///     gate.handle(coin{});
///     bool open = gate.in<unlocked>();
///
/// See docs/guide/10-actors.md.
template <class... States>
    requires(sizeof...(States) > 0)
class state_machine {
public:
    using states = std::variant<States...>;

    state_machine()
        requires std::default_initializable<std::variant_alternative_t<0, states>>
    {
        enter();
    }
    /// Begins in the state given.
    template <class S>
        requires(std::same_as<std::decay_t<S>, States> || ...)
    explicit state_machine(S&& first) : now_(std::in_place_type<std::decay_t<S>>, std::forward<S>(first)) {
        enter();
    }

    /// Gives an event to the current state.
    /// \throws unexpected_event; what on() throws: the state does not change then
    template <class E>
        requires((detail::expects<States, E> || detail::expects_unexpected<States, E>) || ...)
    void handle(E event) {
        visit_current([&](auto& state) { give(state, event); });
    }

    /// \returns whether S is the current state.
    template <class S>
    [[nodiscard]] bool in() const noexcept {
        return std::holds_alternative<S>(now_);
    }
    /// \returns the current state, if it is S; else null.
    template <class S>
    [[nodiscard]] const S* get_if() const noexcept {
        return std::get_if<S>(&now_);
    }

private:
    template <class S, class E>
    void give(S& state, E& event) {
        if constexpr (detail::expects<S, E>)
            follow([&]() -> decltype(auto) { return state.on(event); });
        else if constexpr (detail::expects_unexpected<S, E>)
            follow([&]() -> decltype(auto) { return state.on(unexpected<E>{event}); });
        else
            throw unexpected_event(typeid(S), typeid(E));
    }
    template <class F>
    void follow(F&& on) {
        if constexpr (std::is_void_v<std::invoke_result_t<F>>)
            on();
        else
            go(on());
    }
    template <class Next>
    void go(Next next) {
        if constexpr (detail::is_optional<Next>) {
            if (next) go(std::move(*next));
        } else if constexpr (detail::is_variant<Next>) {
            std::visit([&](auto& s) { go(std::move(s)); }, next);
        } else {
            static_assert(std::is_nothrow_move_constructible_v<Next>, "weft::state_machine: states move without throwing");
            visit_current([](auto& s) {
                if constexpr (requires { s.left(); }) s.left();
            });
            now_.template emplace<Next>(std::move(next));
            enter();
        }
    }
    void enter() {
        visit_current([](auto& s) {
            if constexpr (requires { s.entered(); }) s.entered();
        });
    }
    template <class F>
    void visit_current(F&& f) {
        std::visit(std::forward<F>(f), now_);
    }

    states now_;
};

}  // namespace weft

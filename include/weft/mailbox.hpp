// mailbox.hpp - how an actor takes messages itself: from its mailbox<M>, or by selective receive().
//
// Rules
//   1  Only the actor's own fiber may use these functions; elsewhere the program stops with a
//      message.
//   2  An empty result means: the time has passed, or no message will come any more (after stop(),
//      close(), or the last reference has gone). The forms with an `out` tell the two apart, as
//      those of channels do: they return done, timeout (or empty, if they do not wait), or closed
//      if no message will come any more. `out` is assigned only when done.
//   3  A message is answered by reply() until the next one is taken. An ask that was not answered
//      by then throws no_reply.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include <weft/detail/actor_program.hpp>
#include <weft/detail/export.hpp>
#include <weft/detail/timeouts.hpp>

namespace weft {

namespace detail {

struct any_message {
    template <class M>
    bool operator()(const M&) const noexcept {
        return true;
    }
};

template <class... Ms>
struct one_of {
    using type = std::variant<Ms...>;
};
template <class M>
struct one_of<M> {
    using type = M;
};
/// A predicate as the core calls it: false for messages of other types.
template <class Pred, class... Ms>
bool is_wanted(void* pred, message& m) {
    auto& p = *static_cast<Pred*>(pred);
    return ((m.type() == typeid(Ms) && static_cast<bool>(std::invoke(p, *static_cast<const Ms*>(m.value())))) || ...);
}

/// What a receive has taken.
template <class T>
struct received {
    channel_op how;
    std::optional<T> value;

    channel_op assigned_to(T& out) {
        if (value) out = std::move(*value);
        return how;
    }
};

template <class... Ms>
received<typename one_of<Ms...>::type> taken_value(actor_core& self, next_result next) {
    received<typename one_of<Ms...>::type> result{.how = next.how, .value = std::nullopt};
    if (!next.taken) return result;
    auto& kept = keep_taken(self, std::move(next.taken));
    const auto take = [&]<class M>(std::type_identity<M>) {
        if (!result.value && kept.type() == typeid(M)) result.value.emplace(std::move(*static_cast<M*>(kept.value())));
    };
    (take(std::type_identity<Ms>()), ...);
    return result;
}

/// Whether the message taken last can be answered.
/// \returns false if no ask waits for an answer of that type (any more).
WEFT_EXPORT bool can_answer(actor_core&, const std::type_info& type) noexcept;

template <class... Ms, class Pred>
auto receive_until(actor_core& self, Pred& pred, time_point until) {
    drop_taken(self);
    return taken_value<Ms...>(self, next_message_if(self, until, is_wanted<Pred, Ms...>, std::addressof(pred)));
}

template <class Pred, class... Ms>
concept predicate_for = (std::predicate<Pred&, const Ms&> && ...);

}  // namespace detail

/// Selective receive: takes the oldest message of one of these types that `pred` accepts. All
/// others stay where they are, for later calls or for the handlers. If the message was sent by an
/// ask, reply() answers it. The timeout is a duration or a point in time.
///
///     auto paid = weft::receive<payment>([&](const payment& p) { return p.what == "tea"; }, 10s);
///
/// \returns  an optional M; with several types, an optional std::variant<Ms...>. Empty: see rule 2.
/// \parks    until there is such a message.
/// \throws   weft::cancelled if the actor is killed; what `pred` throws.
template <class... Ms, class Pred, detail::time_limit Limit>
    requires(sizeof...(Ms) > 0 && detail::predicate_for<Pred, Ms...>)
auto receive(Pred pred, const Limit& timeout) {
    return detail::receive_until<Ms...>(detail::self_core("weft::receive"), pred, detail::deadline_of(timeout)).value;
}
template <class... Ms, class Pred>
    requires(sizeof...(Ms) > 0 && detail::predicate_for<Pred, Ms...>)
auto receive(Pred pred) {
    return detail::receive_until<Ms...>(detail::self_core("weft::receive"), pred, detail::never).value;
}
template <class... Ms, detail::time_limit Limit>
    requires(sizeof...(Ms) > 0)
auto receive(const Limit& timeout) {
    return receive<Ms...>(detail::any_message(), timeout);
}
template <class... Ms>
    requires(sizeof...(Ms) > 0)
auto receive() {
    return receive<Ms...>(detail::any_message());
}

/// Selective receive into `out`, a M or a std::variant<Ms...>, which tells a timeout from the end
/// (rule 2).
///
/// \returns  done, timeout or closed; `out` is assigned only when done.
/// \parks    until there is such a message.
/// \throws   weft::cancelled if the actor is killed; what `pred` throws.
template <class... Ms, class Pred, detail::time_limit Limit>
    requires(sizeof...(Ms) > 0 && detail::predicate_for<Pred, Ms...>)
channel_op receive(typename detail::one_of<Ms...>::type& out, Pred pred, const Limit& timeout) {
    return detail::receive_until<Ms...>(detail::self_core("weft::receive"), pred, detail::deadline_of(timeout)).assigned_to(out);
}
template <class... Ms, detail::time_limit Limit>
    requires(sizeof...(Ms) > 0 && !detail::predicate_for<typename detail::one_of<Ms...>::type, Ms...>)
channel_op receive(typename detail::one_of<Ms...>::type& out, const Limit& timeout) {
    return receive<Ms...>(out, detail::any_message(), timeout);
}

/// Answers the message that receive() took last.
///
/// \returns  false if the message was sent without an ask, was answered already, expects an answer
///           of another type, or if its asker does not wait any more.
template <class R>
bool reply(R&& result) {
    auto& self = detail::self_core("weft::reply");
    if (!detail::can_answer(self, typeid(std::decay_t<R>))) return false;
    return detail::answer(self, *detail::taken(self), std::forward<R>(result));
}
inline bool reply() {
    auto& self = detail::self_core("weft::reply");
    return detail::can_answer(self, typeid(void)) && detail::answer(self, *detail::taken(self));
}

/// The messages of a function actor, and a range of them.
///
///     auto adder = weft::spawn_actor<int>({.name = "adder"}, [](weft::mailbox<int>& in) {
///         int sum = 0;
///         for (int n : in) sum += n;
///     });
template <class M>
class mailbox {
public:
    using value_type = M;

    explicit mailbox(detail::actor_core& self) noexcept : self_(self) {}
    mailbox(const mailbox&) = delete;
    mailbox& operator=(const mailbox&) = delete;

    /// Waits for the oldest message and takes it. \returns the message; empty: see rule 2.
    /// \parks while there is none \throws weft::cancelled
    std::optional<M> receive() { return take(detail::never).value; }
    template <class Rep, class Period>
    std::optional<M> receive_for(const std::chrono::duration<Rep, Period>& d) {
        return take(detail::deadline_in(d)).value;
    }
    template <class Clock, class Duration>
    std::optional<M> receive_until(const std::chrono::time_point<Clock, Duration>& t) {
        return take(detail::deadline_at(t)).value;
    }
    [[nodiscard]] std::optional<M> try_receive() { return take(detail::long_past).value; }
    /// Take the oldest message, and tell a timeout from the end (rule 2).
    /// \returns done, timeout (try_receive_op: empty) or closed; `out` is assigned only when done.
    /// \parks   but for try_receive_op: while there is none. \throws weft::cancelled
    template <class Rep, class Period>
    channel_op receive_for(M& out, const std::chrono::duration<Rep, Period>& d) {
        return take(detail::deadline_in(d)).assigned_to(out);
    }
    template <class Clock, class Duration>
    channel_op receive_until(M& out, const std::chrono::time_point<Clock, Duration>& t) {
        return take(detail::deadline_at(t)).assigned_to(out);
    }
    channel_op try_receive_op(M& out) { return take(detail::long_past).assigned_to(out); }
    /// Waits for the oldest message that `pred` accepts and takes it; the others stay. The timeout
    /// is a duration or a point in time.
    template <std::predicate<const M&> Pred>
    std::optional<M> receive_if(Pred pred) {
        return detail::receive_until<M>(self_, pred, detail::never).value;
    }
    template <std::predicate<const M&> Pred, detail::time_limit Limit>
    std::optional<M> receive_if(Pred pred, const Limit& timeout) {
        return detail::receive_until<M>(self_, pred, detail::deadline_of(timeout)).value;
    }
    /// Does so within `timeout`, and tells a timeout from the end, as receive_for() does.
    template <std::predicate<const M&> Pred, detail::time_limit Limit>
    channel_op receive_if(M& out, Pred pred, const Limit& timeout) {
        return detail::receive_until<M>(self_, pred, detail::deadline_of(timeout)).assigned_to(out);
    }

    /// Answers the message taken last, as weft::reply() does.
    template <class R>
    bool reply(R&& result) {
        return weft::reply(std::forward<R>(result));
    }
    bool reply() { return weft::reply(); }

    [[nodiscard]] std::size_t size() const noexcept { return detail::actor_mailbox_size(self_); }

    class iterator {
    public:
        using value_type = M;
        using difference_type = std::ptrdiff_t;
        using iterator_concept = std::input_iterator_tag;

        explicit iterator(detail::actor_core& self) : self_(&self) { ++*this; }
        M& operator*() const noexcept { return *static_cast<M*>(current_->value()); }
        M* operator->() const noexcept { return std::addressof(**this); }
        iterator& operator++() {
            detail::drop_taken(*self_);
            auto next = detail::next_message(*self_, detail::never).taken;
            current_ = next ? &detail::keep_taken(*self_, std::move(next)) : nullptr;
            return *this;
        }
        void operator++(int) { ++*this; }
        friend bool operator==(const iterator& i, std::default_sentinel_t) noexcept { return !i.current_; }

    private:
        detail::actor_core* self_;
        detail::message* current_ = nullptr;
    };

    /// A range of the messages until none will come any more. A message is valid until the next one
    /// is taken, by whatever call.
    /// \parks as receive()
    iterator begin() { return iterator(self_); }
    std::default_sentinel_t end() const noexcept { return {}; }

private:
    detail::received<M> take(detail::time_point until) {
        detail::drop_taken(self_);
        return detail::taken_value<M>(self_, detail::next_message(self_, until));
    }

    detail::actor_core& self_;
};

}  // namespace weft

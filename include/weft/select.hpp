// select.hpp - waits for the first of several operations that can be done, and does exactly that one.
//
// Rules
//   1  One case is committed, all others have no effect. Its callback runs afterwards, on the caller's fiber, no lock held.
//   2  Among the cases that are ready each is about equally likely. A wait is ended by whatever becomes possible first.
//   3  A closed channel is ready: on_receive gets an empty optional once it is drained, on_send throws channel_closed.
//   4  `otherwise` is chosen if nothing else is ready; then select never waits.
//   5  A case is evaluated when it is made: an on_send that is not chosen drops its value. With std::ref(value) it moves
//      from `value` if it is chosen, and else leaves it alone.
#pragma once

#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <type_traits>
#include <utility>
#include <vector>

#include <weft/channel.hpp>
#include <weft/detail/fiber_ref.hpp>
#include <weft/detail/select_core.hpp>
#include <weft/detail/timeouts.hpp>

namespace weft {

namespace detail {

/// One case: entry() names it to the core, run() calls back after it was chosen. It stays in place in between.
template <class C>
concept select_case_like = requires(C& c) {
    { c.entry() } -> std::same_as<select_entry>;
    c.run();
};

template <class Ch>
concept receiving_handle = requires(const std::remove_cvref_t<Ch>& ch) {
    { ch.try_receive() } -> std::same_as<std::optional<typename std::remove_cvref_t<Ch>::value_type>>;
    channel_access::ref(ch);
};

template <class Ch>
concept sending_handle = requires(const std::remove_cvref_t<Ch>& ch, typename std::remove_cvref_t<Ch>::value_type& v) {
    { ch.try_send_op(v) } -> std::same_as<channel_op>;
    channel_access::ref(ch);
};

struct do_nothing {
    template <class... A>
    void operator()(A&&...) const noexcept {}
};

template <class T, class F>
class receive_case {
public:
    receive_case(channel_ref ch, F f) : ch_(std::move(ch)), f_(std::move(f)) {}
    select_entry entry() {
        value_.reset();
        return {.kind = select_kind::receive, .channel = &ch_.core(), .element = &value_};
    }
    void run() { std::invoke(f_, std::move(value_)); }

private:
    channel_ref ch_;
    std::optional<T> value_;
    F f_;
};

/// Value is T, or T& for a value that stays where it is until the case is chosen.
template <class T, class Value, class F>
class send_case {
public:
    template <class V>
    send_case(channel_ref ch, std::in_place_t, V&& value, F f)
        : ch_(std::move(ch)), value_(static_cast<Value>(std::forward<V>(value))), f_(std::move(f)) {}
    select_entry entry() { return {.kind = select_kind::send, .channel = &ch_.core(), .element = std::addressof(value_)}; }
    void run() { std::invoke(f_); }

private:
    channel_ref ch_;
    Value value_;
    F f_;
};

template <class F>
class timeout_case {
public:
    timeout_case(time_point until, F f) : until_(until), f_(std::move(f)) {}
    select_entry entry() { return {.kind = select_kind::timeout, .until = until_}; }
    void run() { std::invoke(f_); }

private:
    time_point until_;
    F f_;
};

template <class F>
class otherwise_case {
public:
    explicit otherwise_case(F f) : f_(std::move(f)) {}
    select_entry entry() { return {.kind = select_kind::otherwise}; }
    void run() { std::invoke(f_); }

private:
    F f_;
};

template <class F>
class stop_case {
public:
    stop_case(std::stop_token token, F f) : token_(std::move(token)), f_(std::move(f)) {}
    select_entry entry() { return {.kind = select_kind::stop, .token = &token_}; }
    void run() { std::invoke(f_); }

private:
    std::stop_token token_;
    F f_;
};

template <class F>
class join_case {
public:
    join_case(control_block* fiber, F f) : fiber_(fiber), f_(std::move(f)) {}
    select_entry entry() { return {.kind = select_kind::join, .fiber = fiber_}; }
    void run() { std::invoke(f_); }

private:
    control_block* fiber_;
    F f_;
};

/// fiber<T> or child<T>.
template <class H>
concept joinable_handle = requires(const H& h) {
    { h.ref() } -> std::same_as<const fiber_ref&>;
};

template <select_case_like C>
class conditional_case {
public:
    conditional_case(bool enabled, C c) : enabled_(enabled), case_(std::move(c)) {}
    select_entry entry() { return enabled_ ? case_.entry() : select_entry{}; }
    void run() { case_.run(); }

private:
    bool enabled_;
    C case_;
};

}  // namespace detail

/// Receives from a channel or receiver; f(std::optional<T>) gets the value, or nothing once it is closed and drained.
template <detail::receiving_handle Ch, class F>
auto on_receive(Ch&& ch, F&& f) {
    using value = typename std::remove_cvref_t<Ch>::value_type;
    return detail::receive_case<value, std::decay_t<F>>(detail::channel_access::ref(ch), std::forward<F>(f));
}

/// Sends a value into a channel or sender, then calls f().
template <detail::sending_handle Ch, class V, class F = detail::do_nothing>
    requires(!std::same_as<std::remove_cvref_t<V>, std::reference_wrapper<typename std::remove_cvref_t<Ch>::value_type>>)
auto on_send(Ch&& ch, V&& value, F&& f = {}) {
    using element = typename std::remove_cvref_t<Ch>::value_type;
    return detail::send_case<element, element, std::decay_t<F>>(detail::channel_access::ref(ch), std::in_place,
                                                                std::forward<V>(value), std::forward<F>(f));
}
template <detail::sending_handle Ch, class F = detail::do_nothing>
auto on_send(Ch&& ch, std::reference_wrapper<typename std::remove_cvref_t<Ch>::value_type> value, F&& f = {}) {
    using element = typename std::remove_cvref_t<Ch>::value_type;
    return detail::send_case<element, element&, std::decay_t<F>>(detail::channel_access::ref(ch), std::in_place, value.get(),
                                                                 std::forward<F>(f));
}

/// Is chosen if nothing else has become ready within `d` of making the case.
template <class Rep, class Period, class F = detail::do_nothing>
auto on_timeout(const std::chrono::duration<Rep, Period>& d, F&& f = {}) {
    return detail::timeout_case<std::decay_t<F>>(detail::deadline_in(d), std::forward<F>(f));
}

/// Is ready when the token is stopped.
template <class F = detail::do_nothing>
auto on_stop(std::stop_token token, F&& f = {}) {
    return detail::stop_case<std::decay_t<F>>(std::move(token), std::forward<F>(f));
}

/// Is ready when the body of `fiber` (a fiber<T> or child<T>) has ended; join() then does not wait. The handle stays where it
/// is, and names the fiber, until the select is over; one that names none stops the program.
template <detail::joinable_handle H, class F = detail::do_nothing>
auto on_join(const H& fiber, F&& f = {}) {
    detail::require_joinable(fiber.joinable());
    return detail::join_case<std::decay_t<F>>(fiber.ref().block(), std::forward<F>(f));
}

/// Is chosen if nothing is ready now.
template <class F = detail::do_nothing>
auto otherwise(F&& f = {}) {
    return detail::otherwise_case<std::decay_t<F>>(std::forward<F>(f));
}

/// The case, if the condition holds; else a case that is never ready.
template <detail::select_case_like C>
auto when(bool condition, C c) {
    return detail::conditional_case<C>(condition, std::move(c));
}

/// A case of any kind, for a number of cases that is known at run time only.
class select_case {
    struct erased {
        virtual ~erased() = default;
        virtual detail::select_entry entry() = 0;
        virtual void run() = 0;
    };
    template <class C>
    struct holder final : erased {
        explicit holder(C c) : held(std::move(c)) {}
        detail::select_entry entry() override { return held.entry(); }
        void run() override { held.run(); }
        C held;
    };

public:
    template <detail::select_case_like C>
        requires(!std::same_as<C, select_case>)
    explicit(false) select_case(C c) : case_(std::make_unique<holder<C>>(std::move(c))) {}

    detail::select_entry entry() { return case_->entry(); }
    void run() { case_->run(); }

private:
    std::unique_ptr<erased> case_;
};

/// Waits until one of the cases can be done, does it and calls it back.
///
/// \returns  the index of that case, in order of appearance.
/// \parks    unless a case is ready at once or there is an `otherwise`. With no case that can become ready: until stopped.
/// \throws   weft::cancelled if this fiber is asked to stop first: no case has happened then; channel_closed if the case
///           chosen is an on_send to a closed channel; what the callback throws.
/// \cost     one lock per channel; after a park one more per channel. No allocation.
/// \see      [Hoa78], for the choice among ready cases
template <class... Cases>
    requires(sizeof...(Cases) > 0 && (detail::select_case_like<std::remove_cvref_t<Cases>> && ...))
std::size_t select(Cases&&... cases) {
    std::array<detail::select_entry, sizeof...(Cases)> entries{cases.entry()...};
    detail::select_order order[sizeof...(Cases)];
    detail::select_registration registrations[sizeof...(Cases)];
    const std::size_t chosen = detail::select_core(entries, order, registrations);
    std::size_t index = 0;
    ((index++ == chosen ? cases.run() : void()), ...);
    return chosen;
}

/// The same for any number of cases. They can be used again, but a value sent is gone.
inline std::size_t select(std::span<select_case> cases) {
    std::vector<detail::select_entry> entries;
    entries.reserve(cases.size());
    for (auto& c : cases) entries.push_back(c.entry());
    const auto order = std::make_unique_for_overwrite<detail::select_order[]>(cases.size());
    const auto registrations = std::make_unique_for_overwrite<detail::select_registration[]>(cases.size());
    const std::size_t chosen = detail::select_core(entries, order.get(), registrations.get());
    cases[chosen].run();
    return chosen;
}

}  // namespace weft

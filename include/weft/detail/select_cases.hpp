// select_cases.hpp - the typed cases of a select: what each tells the core, and what it calls back.
#pragma once

#include <weft/detail/requirements.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

#include <weft/channel.hpp>
#include <weft/detail/fiber_ref.hpp>
#include <weft/detail/select_core.hpp>

namespace weft::detail {

/// One case with one entry: entry() describes it to the core, run() calls back after it was chosen.
/// The case does not move in between.
template <class C>
concept single_case = requires(C& c) {
    { c.entry() } -> std::same_as<select_entry>;
    c.run();
};
/// One case with `width` entries, one of which is chosen. run() returns false if that was not what
/// the case waits for; the select then goes on, with new entries.
template <class C>
concept wide_case = requires(C& c, select_entry* into, std::size_t which) {
    { C::width } -> std::convertible_to<std::size_t>;
    c.entries(into);
    { c.run(which) } -> std::same_as<bool>;
};
template <class C>
concept select_case_like = single_case<C> || wide_case<C>;

template <class C>
constexpr std::size_t width_of = 1;
template <wide_case C>
constexpr std::size_t width_of<C> = C::width;

template <class C>
void describe(C& c, select_entry* into) {
    if constexpr (wide_case<C>)
        c.entries(into);
    else
        *into = c.entry();
}
/// \returns  false if the select is not over.
template <class C>
bool run_chosen(C& c, [[maybe_unused]] std::size_t which) {
    if constexpr (wide_case<C>) {
        return c.run(which);
    } else {
        c.run();
        return true;
    }
}

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

/// What an on_send keeps of the handle Ch it was given. A temporary handle is itself kept, since it
/// may be the channel's last sender.
template <class Ch>
using kept_handle = std::conditional_t<std::is_lvalue_reference_v<Ch>, channel_ref, std::remove_cvref_t<Ch>>;

template <class Ch>
kept_handle<Ch> keep_handle(Ch&& ch) {
    if constexpr (std::is_lvalue_reference_v<Ch>)
        return channel_access::ref(ch);
    else
        return std::forward<Ch>(ch);
}

/// Value is T, or T& for a value that stays in place until the case is chosen.
template <class T, class Value, class Handle, class F>
class send_case {
public:
    template <class V>
    send_case(Handle ch, std::in_place_t, V&& value, F f)
        : ch_(std::move(ch)), value_(static_cast<Value>(std::forward<V>(value))), f_(std::move(f)) {}
    select_entry entry() { return {.kind = select_kind::send, .channel = &core(), .element = std::addressof(value_)}; }
    void run() { std::invoke(f_); }

private:
    channel_core& core() const noexcept {
        if constexpr (std::same_as<Handle, channel_ref>)
            return ch_.core();
        else
            return channel_access::ref(ch_).core();
    }

    Handle ch_;
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

/// A stream, or any type for which watch_readable(s), found by argument-dependent lookup, returns a
/// select_watch.
template <class S>
concept watched_handle = requires(const S& s) {
    { watch_readable(s) } -> std::derived_from<select_watch>;
};

/// A type for which watch_writable(s), found by argument-dependent lookup, returns a select_watch.
template <class S>
concept watched_to_write = requires(const S& s) {
    { watch_writable(s) } -> std::derived_from<select_watch>;
};

template <std::derived_from<select_watch> W, class F>
class watch_case {
public:
    watch_case(W w, F f) : watch_(std::move(w)), f_(std::move(f)) {}
    select_entry entry() { return {.kind = select_kind::watch, .watch = &watch_}; }
    void run() { std::invoke(f_); }

private:
    W watch_;
    F f_;
};

template <select_case_like C>
class conditional_case {
public:
    static constexpr std::size_t width = width_of<C>;

    conditional_case(bool enabled, C c) : enabled_(enabled), case_(std::move(c)) {}
    void entries(select_entry* into) {
        if (enabled_)
            describe(case_, into);
        else
            for (std::size_t i = 0; i < width; ++i) into[i] = {};
    }
    bool run(std::size_t which) { return run_chosen(case_, which); }

private:
    bool enabled_;
    C case_;
};

}  // namespace weft::detail

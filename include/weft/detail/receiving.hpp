// receiving.hpp - receives from ends that are made of other ones, as a select sees them.
//
// A pending receive has `width` entries, one for each channel below it. entries() fills them, and
// take() gets the value after the core has committed one of them. It does not move in between.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <functional>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include <weft/detail/select_cases.hpp>
#include <weft/detail/select_core.hpp>

namespace weft::detail {

/// A receive from a channel.
template <class T>
class pending_channel {
public:
    using value_type = T;
    static constexpr std::size_t width = 1;

    explicit pending_channel(channel_core& core) noexcept : core_(&core) {}
    void entries(select_entry* into) {
        value_.reset();
        *into = {.kind = select_kind::receive, .channel = core_, .element = &value_};
    }
    /// \returns  whether the receive is over: `out` has the value, or is empty at the end. If not,
    ///           it goes on with new entries.
    bool take(std::size_t, std::optional<T>& out) {
        if (value_) out.emplace(std::move(*value_));
        return true;
    }

private:
    channel_core* core_;
    std::optional<T> value_;
};

/// A receive from a transformed end, whose values are f(x).
template <class Below, class F>
class pending_transform {
public:
    using value_type = std::remove_cvref_t<std::invoke_result_t<const F&, typename Below::value_type>>;
    static constexpr std::size_t width = Below::width;

    pending_transform(Below below, const F& f) : below_(std::move(below)), f_(&f) {}
    void entries(select_entry* into) { below_.entries(into); }
    bool take(std::size_t which, std::optional<value_type>& out) {
        std::optional<typename Below::value_type> value;
        if (!below_.take(which, value)) return false;
        if (value) out.emplace(std::invoke(*f_, std::move(*value)));
        return true;
    }

private:
    Below below_;
    const F* f_;
};

/// A receive from a mix of ends. The entries of an end that is over become disabled, except those
/// of the last one, so that the end of all remains ready.
template <class First, class... Below>
class pending_mix {
    static constexpr std::size_t count = 1 + sizeof...(Below);

public:
    using value_type = typename First::value_type;
    static constexpr std::size_t width = (First::width + ... + Below::width);

    explicit pending_mix(First first, Below... below) : below_(std::move(first), std::move(below)...) {}
    void entries(select_entry* into) {
        each([&](auto& end, std::size_t i) {
            if (is_over_[i])
                for (std::size_t k = 0; k < end.width; ++k) into[k] = {};
            else
                end.entries(into);
            into += end.width;
        });
    }
    bool take(std::size_t which, std::optional<value_type>& out) {
        bool done = false;
        std::size_t from = 0;
        each([&](auto& end, std::size_t i) {
            if (which >= from && which < from + end.width) done = take_from(end, i, which - from, out);
            from += end.width;
        });
        return done;
    }

private:
    template <class End>
    bool take_from(End& end, std::size_t i, std::size_t which, std::optional<value_type>& out) {
        if (!end.take(which, out)) return false;
        if (out || left_ == 1) return true;
        is_over_[i] = true;
        --left_;
        return false;
    }
    template <class F>
    void each(F f) {
        std::size_t i = 0;
        std::apply([&](auto&... end) { (f(end, i++), ...); }, below_);
    }

    std::tuple<First, Below...> below_;
    std::array<bool, count> is_over_{};
    std::size_t left_ = count;
};

/// The base of what transform() and mix() return.
class adapted_end_base {};

template <class E>
concept adapted_handle = std::derived_from<std::remove_cvref_t<E>, adapted_end_base>;
template <class E>
concept receiving_end = adapted_handle<E> || receiving_handle<E>;

template <receiving_end E>
auto pending_of(const E& end) {
    if constexpr (adapted_handle<E>)
        return end.pending();
    else
        return pending_channel<typename E::value_type>(channel_access::ref(end).core());
}
template <class E>
using pending_of_t = decltype(pending_of(std::declval<const E&>()));

/// Waits for a value of a pending receive. \returns done, closed or timeout. \parks until then
template <class Pending>
channel_op receive_pending(Pending pending, std::optional<typename Pending::value_type>& out, time_point until) {
    constexpr std::size_t width = Pending::width;
    for (;;) {
        std::array<select_entry, width + 1> entries;
        select_order order[width + 1];
        select_registration registrations[width + 1];
        pending.entries(entries.data());
        if (until != never) entries[width] = {.kind = select_kind::timeout, .until = until};
        const std::size_t chosen = select_core(entries, order, registrations);
        if (chosen == width) return channel_op::timeout;
        if (pending.take(chosen, out)) return out ? channel_op::done : channel_op::closed;
    }
}

/// \returns done, closed or empty.
template <class Pending>
channel_op try_receive_pending(Pending pending, std::optional<typename Pending::value_type>& out) {
    std::array<select_entry, Pending::width> entries;
    pending.entries(entries.data());
    for (std::size_t i = 0; i < entries.size(); ++i)
        if (entries[i].kind != select_kind::disabled && select_now(entries[i]) && pending.take(i, out))
            return out ? channel_op::done : channel_op::closed;
    return channel_op::empty;
}

/// A case that receives from such an end.
template <class End, class F>
class adapted_case {
    using pending = pending_of_t<End>;

public:
    static constexpr std::size_t width = pending::width;

    adapted_case(End end, F f) : end_(std::move(end)), f_(std::move(f)) {}
    adapted_case(adapted_case&& other) : end_(std::move(other.end_)), f_(std::move(other.f_)) {}
    adapted_case(const adapted_case& other) : end_(other.end_), f_(other.f_) {}

    void entries(select_entry* into) {
        if (!pending_) pending_.emplace(pending_of(end_));
        pending_->entries(into);
    }
    bool run(std::size_t which) {
        std::optional<typename End::value_type> value;
        if (!pending_->take(which, value)) return false;
        std::invoke(f_, std::move(value));
        return true;
    }

private:
    End end_;
    F f_;
    // Made when the case has come to its place, since it refers to end_; keeps what has ended.
    std::optional<pending> pending_;
};

}  // namespace weft::detail

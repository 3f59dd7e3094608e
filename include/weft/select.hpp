// select.hpp - waits for the first of several operations that can be done, and does just that one.
//
// Rules
//   1  One case is committed; the others have no effect. Its callback runs afterwards, on the
//      caller's fiber, with no lock held.
//   2  Among the cases that are ready, each is about equally likely. If none is ready, select waits
//      for the first that becomes possible.
//   3  A closed channel is ready: on_receive gets an empty optional once the channel is drained,
//      and on_send throws channel_closed.
//   4  `otherwise` is chosen if no other case is ready, so a select that has one never waits.
//   5  A case is evaluated when it is made: an on_send that is not chosen drops its value. With
//      std::ref(value) it moves from `value` if it is chosen, and otherwise leaves it alone. If it
//      is chosen on a full channel whose policy drops the new value (drop_newest), nothing is sent:
//      the callback runs, and `value` is left as it is.
//   6  select_all() does not choose: it does every case that is ready.
//
// See docs/guide/2-channels.md.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

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
#include <weft/detail/select_cases.hpp>
#include <weft/detail/select_core.hpp>
#include <weft/detail/timeouts.hpp>

namespace weft {

/// Receives from a channel or receiver; f(std::optional<T>) gets the value, or an empty optional
/// once the channel is closed and drained. Without f the value is dropped.
template <detail::receiving_handle Ch, class F = detail::do_nothing>
[[nodiscard]] auto on_receive(Ch&& ch, F&& f = {}) {
    using value = typename std::remove_cvref_t<Ch>::value_type;
    return detail::receive_case<value, std::decay_t<F>>(detail::channel_access::ref(ch), std::forward<F>(f));
}

/// Sends a value into a channel or sender, then calls f(). A temporary sender lives as long as the
/// case.
template <detail::sending_handle Ch, class V, class F = detail::do_nothing>
    requires(!std::same_as<std::remove_cvref_t<V>, std::reference_wrapper<typename std::remove_cvref_t<Ch>::value_type>>)
[[nodiscard]] auto on_send(Ch&& ch, V&& value, F&& f = {}) {
    using element = typename std::remove_cvref_t<Ch>::value_type;
    return detail::send_case<element, element, detail::kept_handle<Ch>, std::decay_t<F>>(
        detail::keep_handle(std::forward<Ch>(ch)), std::in_place, std::forward<V>(value), std::forward<F>(f));
}
template <detail::sending_handle Ch, class F = detail::do_nothing>
[[nodiscard]] auto on_send(Ch&& ch, std::reference_wrapper<typename std::remove_cvref_t<Ch>::value_type> value, F&& f = {}) {
    using element = typename std::remove_cvref_t<Ch>::value_type;
    return detail::send_case<element, element&, detail::kept_handle<Ch>, std::decay_t<F>>(
        detail::keep_handle(std::forward<Ch>(ch)), std::in_place, value.get(), std::forward<F>(f));
}

/// Is chosen if no other case has become ready within `d` of making this one.
template <class Rep, class Period, class F = detail::do_nothing>
[[nodiscard]] auto on_timeout(const std::chrono::duration<Rep, Period>& d, F&& f = {}) {
    return detail::timeout_case<std::decay_t<F>>(detail::deadline_in(d), std::forward<F>(f));
}
/// Is chosen if no other case has become ready by `t`.
template <class Clock, class Duration, class F = detail::do_nothing>
[[nodiscard]] auto on_timeout(const std::chrono::time_point<Clock, Duration>& t, F&& f = {}) {
    return detail::timeout_case<std::decay_t<F>>(detail::deadline_at(t), std::forward<F>(f));
}

/// Is ready when the token is stopped.
template <class F = detail::do_nothing>
[[nodiscard]] auto on_stop(std::stop_token token, F&& f = {}) {
    return detail::stop_case<std::decay_t<F>>(std::move(token), std::forward<F>(f));
}

/// Is ready when the body of `fiber` (a fiber<T> or child<T>) has ended; join() then does not wait.
/// Until the select is over, the handle must stay where it is and must name the fiber. A handle
/// that names none stops the program.
template <detail::joinable_handle H, class F = detail::do_nothing>
[[nodiscard]] auto on_join(const H& fiber, F&& f = {}) {
    detail::require_joinable(fiber.joinable());
    return detail::join_case<std::decay_t<F>>(fiber.ref().block(), std::forward<F>(f));
}

/// Is ready when reading from `stream` would not wait: bytes have come, or its end, or a failure,
/// or it is closed. For a listener: when accept() would not wait. Nothing is read, and another
/// fiber may read first. The stream stays where it is until the select is over.
///
/// \cost  one system call for each look. A plain thread looks every 2 ms if no runtime has waited
///        for the stream yet.
template <detail::watched_handle S, class F = detail::do_nothing>
[[nodiscard]] auto on_readable(const S& stream, F&& f = {}) {
    return detail::watch_case<decltype(watch_readable(stream)), std::decay_t<F>>(watch_readable(stream), std::forward<F>(f));
}

/// Is ready when writing to `stream` would not wait; for io::descriptor. Otherwise as
/// on_readable().
template <detail::watched_to_write S, class F = detail::do_nothing>
[[nodiscard]] auto on_writable(const S& stream, F&& f = {}) {
    return detail::watch_case<decltype(watch_writable(stream)), std::decay_t<F>>(watch_writable(stream), std::forward<F>(f));
}

/// Is chosen if no other case is ready now. A case that would fail is ready: an on_send to a closed
/// channel, or to a full one with overflow::fail, makes select() throw instead.
template <class F = detail::do_nothing>
[[nodiscard]] auto otherwise(F&& f = {}) {
    return detail::otherwise_case<std::decay_t<F>>(std::forward<F>(f));
}

/// Makes a case depend on a condition: the result is `c` if the condition holds, and otherwise a
/// case that is never ready.
template <detail::select_case_like C>
[[nodiscard]] auto when(bool condition, C c) {
    return detail::conditional_case<C>(condition, std::move(c));
}

/// Holds a case of any kind, for selects whose number of cases is known only at run time.
///
///     std::vector<weft::select_case> cases;
///     for (auto& ch : channels) cases.emplace_back(weft::on_receive(ch, take));
///     std::size_t chosen = weft::select(cases);
class WEFT_EXPORT select_case {
    struct erased {
        virtual ~erased() = default;
        virtual void entries(detail::select_entry* into) = 0;
        virtual bool run(std::size_t which) = 0;
    };
    template <class C>
    struct holder final : erased {
        explicit holder(C c) : held(std::move(c)) {}
        void entries(detail::select_entry* into) override { detail::describe(held, into); }
        bool run(std::size_t which) override { return detail::run_chosen(held, which); }
        C held;
    };

public:
    template <detail::select_case_like C>
        requires(!std::same_as<C, select_case>)
    explicit(false) select_case(C c) : width_(detail::width_of<C>), case_(std::make_unique<holder<C>>(std::move(c))) {}

    /// Internal: for weft's own parts.
    std::size_t width() const noexcept { return width_; }
    void entries(detail::select_entry* into) { case_->entries(into); }
    bool run(std::size_t which) { return case_->run(which); }

private:
    std::size_t width_;
    std::unique_ptr<erased> case_;
};

namespace detail {

/// Runs the case to which the entry `chosen` belongs. \returns its index, or the number of cases if
/// the select is not over.
template <class... Cases>
std::size_t run_one_of(std::size_t chosen, Cases&... cases) {
    std::size_t first = 0, i = 0, index = sizeof...(Cases);
    const auto run = [&]<class C>(C& c) {
        if (chosen >= first && chosen < first + width_of<C> && run_chosen(c, chosen - first)) index = i;
        first += width_of<C>;
        ++i;
    };
    (run(cases), ...);
    return index;
}

}  // namespace detail

/// Waits until one of the cases can be done, does it, and then calls its callback.
///
///     weft::select(weft::on_receive(orders, [](std::optional<order> o) { if (o) book(*o); }),
///                  weft::on_send(acks, 7),
///                  weft::on_timeout(50ms, [] { flush(); }));
///
/// \returns  the index of that case, in order of appearance.
/// \parks    unless a case is ready at once or there is an `otherwise`. If no case can become
///           ready, until the fiber is stopped.
/// \throws   weft::cancelled if this fiber is asked to stop first: no case has happened then;
///           channel_closed if the case chosen is an on_send to a closed channel, and
///           std::system_error (no_buffer_space) to a full one with overflow::fail; what the
///           callback throws.
/// \cost     one lock per channel; after a park one more per channel. No allocation.
/// \see      [Hoa78], for the choice among ready cases
template <class... Cases>
    requires(sizeof...(Cases) > 0 && (detail::select_case_like<std::remove_cvref_t<Cases>> && ...))
std::size_t select(Cases&&... cases) {
    constexpr std::size_t width = (detail::width_of<std::remove_cvref_t<Cases>> + ...);
    for (;;) {
        std::array<detail::select_entry, width> entries;
        detail::select_order order[width];
        detail::select_registration registrations[width];
        std::size_t first = 0;
        ((detail::describe(cases, entries.data() + first), first += detail::width_of<std::remove_cvref_t<Cases>>), ...);
        const std::size_t chosen = detail::select_core(entries, order, registrations);
        if (const auto index = detail::run_one_of(chosen, cases...); index != sizeof...(Cases)) return index;
    }
}

namespace detail {

inline std::vector<select_entry> entries_of(std::span<select_case> cases) {
    std::size_t width = 0;
    for (const auto& c : cases) width += c.width();
    std::vector<select_entry> entries(width);
    auto* into = entries.data();
    for (auto& c : cases) {
        c.entries(into);
        into += c.width();
    }
    return entries;
}

/// The case to which an entry belongs, and which of its entries that is.
struct entry_place {
    std::size_t index;
    std::size_t which;
};
inline entry_place place_of(std::size_t entry, std::size_t entries, std::span<const select_case> cases) {
    if (entries == cases.size()) return {entry, 0};  // each case has one
    std::size_t i = 0;
    for (; entry >= cases[i].width(); ++i) entry -= cases[i].width();
    return {i, entry};
}

inline std::size_t select_of(std::span<select_entry> entries) {
    const auto order = std::make_unique_for_overwrite<select_order[]>(entries.size());
    const auto registrations = std::make_unique_for_overwrite<select_registration[]>(entries.size());
    return select_core(entries, order.get(), registrations.get());
}

}  // namespace detail

/// Selects among a number of cases known at run time; otherwise does what select(cases...) does.
/// The cases can be used again, but a value that was sent is gone. Allocates.
inline std::size_t select(std::span<select_case> cases) {
    for (;;) {
        auto entries = detail::entries_of(cases);
        const auto chosen = detail::place_of(detail::select_of(entries), entries.size(), cases);
        if (cases[chosen.index].run(chosen.which)) return chosen.index;
    }
}

/// Waits until one of the cases can be done. Then does all cases that can be done now, each once,
/// in order of appearance; the callback of a case runs before the next case is tried. So one wait
/// serves many cases. A timeout or an `otherwise` is chosen alone, and only if no other case is
/// ready.
///
/// \returns  the indices of the cases that ran.
/// \parks    as select().
/// \throws   as select(). When a case or its callback throws, the cases before it have run, and
///           those after it have not happened.
/// \cost     one lock per channel; after a park three more per channel. Some allocations.
inline std::vector<std::size_t> select_all(std::span<select_case> cases) {
    detail::enter_select();
    auto entries = detail::entries_of(cases);
    std::vector<std::size_t> chosen;
    chosen.reserve(cases.size());
    const auto run = [&](std::size_t i, std::size_t first, std::size_t which) {
        chosen.push_back(i);
        const bool done = cases[i].run(which);
        if (!done) chosen.pop_back();
        for (std::size_t k = 0; k < cases[i].width(); ++k)
            if (done || k == which) entries[first + k].kind = detail::select_kind::disabled;
    };
    const auto run_what_is_ready = [&] {
        std::size_t first = 0;
        for (std::size_t i = 0; i < cases.size(); first += cases[i++].width())
            for (std::size_t k = 0; k < cases[i].width(); ++k)
                if (detail::select_now(entries[first + k])) run(i, first, k);
    };
    run_what_is_ready();
    while (chosen.empty()) {
        const std::size_t entry = detail::select_of(entries);
        const auto kind = entries[entry].kind;
        const auto place = detail::place_of(entry, entries.size(), cases);
        run(place.index, entry - place.which, place.which);
        if (kind == detail::select_kind::timeout || kind == detail::select_kind::otherwise) break;
        run_what_is_ready();
    }
    return chosen;
}

}  // namespace weft

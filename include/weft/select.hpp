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
//      std::ref(value) it moves from `value` if it is chosen, and otherwise leaves it alone.
//   6  select_all() does not choose: it does every case that is ready.
//
// See docs/guide/2-channels.md.
#pragma once

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
/// once the channel is closed and drained.
template <detail::receiving_handle Ch, class F>
auto on_receive(Ch&& ch, F&& f) {
    using value = typename std::remove_cvref_t<Ch>::value_type;
    return detail::receive_case<value, std::decay_t<F>>(detail::channel_access::ref(ch), std::forward<F>(f));
}

/// Sends a value into a channel or sender, then calls f(). A temporary sender lives as long as the
/// case.
template <detail::sending_handle Ch, class V, class F = detail::do_nothing>
    requires(!std::same_as<std::remove_cvref_t<V>, std::reference_wrapper<typename std::remove_cvref_t<Ch>::value_type>>)
auto on_send(Ch&& ch, V&& value, F&& f = {}) {
    using element = typename std::remove_cvref_t<Ch>::value_type;
    return detail::send_case<element, element, detail::kept_handle<Ch>, std::decay_t<F>>(
        detail::keep_handle(std::forward<Ch>(ch)), std::in_place, std::forward<V>(value), std::forward<F>(f));
}
template <detail::sending_handle Ch, class F = detail::do_nothing>
auto on_send(Ch&& ch, std::reference_wrapper<typename std::remove_cvref_t<Ch>::value_type> value, F&& f = {}) {
    using element = typename std::remove_cvref_t<Ch>::value_type;
    return detail::send_case<element, element&, detail::kept_handle<Ch>, std::decay_t<F>>(
        detail::keep_handle(std::forward<Ch>(ch)), std::in_place, value.get(), std::forward<F>(f));
}

/// Is chosen if no other case has become ready within `d` of making this one.
template <class Rep, class Period, class F = detail::do_nothing>
auto on_timeout(const std::chrono::duration<Rep, Period>& d, F&& f = {}) {
    return detail::timeout_case<std::decay_t<F>>(detail::deadline_in(d), std::forward<F>(f));
}

/// Is ready when the token is stopped.
template <class F = detail::do_nothing>
auto on_stop(std::stop_token token, F&& f = {}) {
    return detail::stop_case<std::decay_t<F>>(std::move(token), std::forward<F>(f));
}

/// Is ready when the body of `fiber` (a fiber<T> or child<T>) has ended; join() then does not wait.
/// Until the select is over, the handle must stay where it is and must name the fiber. A handle
/// that names none stops the program.
template <detail::joinable_handle H, class F = detail::do_nothing>
auto on_join(const H& fiber, F&& f = {}) {
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
auto on_readable(const S& stream, F&& f = {}) {
    return detail::watch_case<decltype(watch_readable(stream)), std::decay_t<F>>(watch_readable(stream), std::forward<F>(f));
}

/// Is ready when writing to `stream` would not wait; for io::descriptor. Otherwise as
/// on_readable().
template <detail::watched_to_write S, class F = detail::do_nothing>
auto on_writable(const S& stream, F&& f = {}) {
    return detail::watch_case<decltype(watch_writable(stream)), std::decay_t<F>>(watch_writable(stream), std::forward<F>(f));
}

/// Is chosen if no other case is ready now.
template <class F = detail::do_nothing>
auto otherwise(F&& f = {}) {
    return detail::otherwise_case<std::decay_t<F>>(std::forward<F>(f));
}

/// Makes a case depend on a condition: the result is `c` if the condition holds, and otherwise a
/// case that is never ready.
template <detail::select_case_like C>
auto when(bool condition, C c) {
    return detail::conditional_case<C>(condition, std::move(c));
}

/// Holds a case of any kind, for selects whose number of cases is known only at run time.
///
///     std::vector<weft::select_case> cases;
///     for (auto& ch : channels) cases.emplace_back(weft::on_receive(ch, take));
///     std::size_t chosen = weft::select(cases);
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
///           channel_closed if the case chosen is an on_send to a closed channel; what the callback
///           throws.
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

namespace detail {

inline std::vector<select_entry> entries_of(std::span<select_case> cases) {
    std::vector<select_entry> entries;
    entries.reserve(cases.size());
    for (auto& c : cases) entries.push_back(c.entry());
    return entries;
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
    auto entries = detail::entries_of(cases);
    const std::size_t chosen = detail::select_of(entries);
    cases[chosen].run();
    return chosen;
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
    const auto run = [&](std::size_t i) {
        chosen.push_back(i);
        cases[i].run();
        entries[i].kind = detail::select_kind::disabled;
    };
    const auto run_what_is_ready = [&] {
        for (std::size_t i = 0; i < entries.size(); ++i)
            if (detail::select_now(entries[i])) run(i);
    };
    run_what_is_ready();
    if (!chosen.empty()) return chosen;
    const std::size_t first = detail::select_of(entries);
    const auto kind = entries[first].kind;
    run(first);
    if (kind != detail::select_kind::timeout && kind != detail::select_kind::otherwise) run_what_is_ready();
    return chosen;
}

}  // namespace weft

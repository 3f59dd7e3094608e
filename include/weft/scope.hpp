// scope.hpp - structured concurrency: children that end before the block that started them does.
#pragma once

#include <weft/detail/requirements.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

#include <weft/detail/scope_core.hpp>
#include <weft/fiber.hpp>

namespace weft {

/// What a child's failure does. stop_all: the first one stops the other children and the body, and leaves with_scope().
/// report: it goes to runtime_options::on_unhandled and stops nobody (servers).
enum class on_failure { stop_all, report };

struct scope_options {
    weft::on_failure on_failure = weft::on_failure::stop_all;
    /// How many children may be alive at once; 0: no limit. At the limit spawn() parks until a child ends; callers are served in order
    /// of arrival. A child that spawns into its own scope keeps its place meanwhile: if all children do so, all wait for ever.
    std::size_t limit = 0;
    /// stop_all: told of the second failure and of all that follow, each with the fiber it is of, as soon as it has come: of a child on
    /// that child, which has not ended yet; of the body where the body runs, named "a plain thread" if that is one. Several may come at
    /// once. It may park; the scope waits for it, and it is interrupted as any code of that fiber. If it throws the program stops.
    /// Default: runtime_options::on_unhandled, and without one a line on stderr.
    std::function<void(fiber_info const&, std::exception_ptr)> on_further_failure = {};
};

/// A handle to a child of a scope. Move-only; dropping it does nothing, the scope waits for the child anyway.
template <class T = void>
class child {
public:
    child() noexcept = default;

    /// As fiber<T>::join(). A failure taken here is not rethrown by with_scope().
    T join() {
        const detail::joined_fiber ended(ref_);
        if (ended.body().failure()) [[unlikely]] {
            ended.note_taken();
            ended.raise_failure();
        }
        return static_cast<detail::result_task<T>&>(ended.body()).take();
    }
    /// Waits only. \returns whether the child has ended. \parks \throws cancelled
    template <class Rep, class Period>
    bool join_for(const std::chrono::duration<Rep, Period>& d) {
        return join_until(detail::deadline_in(d));
    }
    template <class Clock, class Duration>
    bool join_until(const std::chrono::time_point<Clock, Duration>& t) {
        detail::require_joinable(static_cast<bool>(ref_));
        return ref_.wait_until(detail::deadline_at(t));
    }
    bool joinable() const noexcept { return static_cast<bool>(ref_); }
    bool done() const noexcept { return ref_ && ref_.done(); }
    /// Asks the child alone to end. That it ends so is no failure.
    bool request_stop() noexcept { return ref_ && ref_.request_stop(); }
    std::stop_token stop_token() const { return ref_ ? ref_.stop_token() : std::stop_token(); }
    fiber_id id() const noexcept { return {ref_ ? ref_.id() : 0}; }

    /// For weft's own parts.
    explicit child(detail::fiber_ref ref) noexcept : ref_(std::move(ref)) {}
    const detail::fiber_ref& ref() const noexcept { return ref_; }

private:
    detail::fiber_ref ref_;
};

/// Passed to the body of with_scope(). May be used by the body and by the children, as long as they run.
class scope {
public:
    /// Starts a child, as weft::spawn(). In a stopped scope the child starts stopped.
    ///
    /// \parks   where there are scope_options::limit children, and as weft::spawn().
    /// \throws  what weft::spawn() throws; cancelled if the caller is stopped before there is a place, under a limit.
    template <class F>
        requires detail::not_attributes<F>
    auto spawn(F&& f, detail::call_site site = {}) {
        detail::scope_place place(core_);
        detail::made_fiber<detail::start_as::joinable, F> made(&core_.where(), site.where, std::forward<F>(f));
        return child<detail::spawn_result_t<F>>(core_.start(made, made.body, place));
    }
    template <class F, class... A>
        requires(detail::not_attributes<F> && sizeof...(A) > 0)
    auto spawn(F&& f, A&&... args) {
        detail::scope_place place(core_);
        detail::made_fiber<detail::start_as::joinable, F, A...> made(&core_.where(), {}, std::forward<F>(f),
                                                                     std::forward<A>(args)...);
        return child<detail::spawn_result_t<F, A...>>(core_.start(made, made.body, place));
    }
    template <class F, class... A>
    auto spawn(const attributes& a, F&& f, A&&... args) {
        detail::scope_place place(core_);
        detail::made_fiber<detail::start_as::joinable, F, A...> made(core_.where(), a, std::forward<F>(f),
                                                                     std::forward<A>(args)...);
        return child<detail::spawn_result_t<F, A...>>(core_.start(made, made.body, place));
    }

    /// Stops all children, those to come, and the body. The `cancelled` it causes in the body is absorbed by with_scope().
    void request_stop() noexcept { core_.request_stop(); }
    /// Stopped with the scope.
    std::stop_token stop_token() const { return core_.stop_token(); }
    /// Children that have not ended.
    std::size_t size() const noexcept { return core_.size(); }

    /// For weft's own parts.
    explicit scope(detail::scope_core& core) noexcept : core_(core) {}

private:
    detail::scope_core& core_;
};

namespace detail {

template <class F>
auto with_scope_in(scheduler& where, const scope_options& options, F&& body) -> std::invoke_result_t<F, scope&> {
    scope_core core(where, options);
    scope s(core);
    return run_scope(core, [&]() -> decltype(auto) { return std::invoke(std::forward<F>(body), s); });
}

}  // namespace detail

/// Runs body(scope&) and returns when it and all children it started have ended.
///
/// \returns what the body returns.
/// \throws  the first failure, of the body or (on_failure::stop_all) of a child; further ones go to on_further_failure. A stop or an
///          expired deadline of the caller stops the children too and leaves as `cancelled`. A `cancelled` caused by
///          scope::request_stop() is absorbed if the body returns nothing; else there is no value and it is rethrown.
/// \parks   until the last child has ended; this wait is never cut short, but hands a stop on to the children.
template <class F>
auto with_scope(const scope_options& options, F&& body) -> std::invoke_result_t<F, scope&> {
    return detail::with_scope_in(detail::runtime_here("weft::with_scope"), options, std::forward<F>(body));
}
template <class F>
auto with_scope(F&& body) -> std::invoke_result_t<F, scope&> {
    return with_scope(scope_options{}, std::forward<F>(body));
}

/// With children in `rt`, from any thread: the body runs where the caller is, and a plain thread is stopped by its scope like a fiber.
template <std::same_as<runtime> Runtime, class F>
auto with_scope(Runtime& rt, const scope_options& options, F&& body) -> std::invoke_result_t<F, scope&> {
    return detail::with_scope_in(scheduler_behind(rt), options, std::forward<F>(body));
}
template <std::same_as<runtime> Runtime, class F>
auto with_scope(Runtime& rt, F&& body) -> std::invoke_result_t<F, scope&> {
    return with_scope(rt, scope_options{}, std::forward<F>(body));
}

}  // namespace weft

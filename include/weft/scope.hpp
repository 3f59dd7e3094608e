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
#include <weft/no_limit.hpp>

namespace weft {

/// What the failure of a child does.
///
/// stop_all: the first failure stops the other children and the body, and with_scope() rethrows it.
/// report:   the failure goes to runtime_options::on_unhandled and stops no fiber; for servers.
enum class on_failure { stop_all, report };

/// How a scope treats its children: with_scope({.limit = 8}, body). See docs/guide/1-hello.md.
struct scope_options {
    weft::on_failure on_failure = weft::on_failure::stop_all;
    /// The most children that may be alive at once; no_limit or 0: no limit. At the limit spawn()
    /// parks until a child ends; callers are served in order of arrival. A child that spawns into
    /// its own scope keeps its place while it waits, so if all children do that, all of them wait
    /// for ever.
    std::size_t limit = no_limit;
    /// With stop_all: called at once for every failure after the first, with the fiber that failed.
    /// The failure of a child is reported on that child, which has not ended yet; that of the body
    /// is reported where the body runs, and if that is a plain thread the name says "a plain
    /// thread". Several calls may run at once. The function may park: the scope waits for it, and
    /// stops and deadlines interrupt it as they do any code of that fiber. If it throws, the
    /// program ends by std::terminate. Default: runtime_options::on_unhandled, or a line on stderr
    /// if there is none.
    std::function<void(fiber_info const&, std::exception_ptr)> on_further_failure = {};
};

/// A handle to a child of a scope. Move-only. Dropping it does nothing: the scope waits for the
/// child anyway.
///
///     int sum = weft::with_scope([](weft::scope& s) {
///         weft::child<int> one = s.spawn([] { return 1; }), two = s.spawn([] { return 2; });
///         return one.join() + two.join();
///     });
template <class T = void>
class child {
public:
    child() noexcept = default;

    /// Does what fiber<T>::join() does. with_scope() does not rethrow a failure that was taken
    /// here.
    T join() {
        const detail::joined_fiber ended(ref_);
        if (ended.body().failure()) [[unlikely]] {
            ended.note_taken();
            ended.raise_failure();
        }
        return static_cast<detail::result_task<T>&>(ended.body()).take();
    }
    /// Waits for the end of the child, up to a limit of time, and takes nothing.
    /// \returns whether the child has ended. \parks \throws cancelled
    template <class Rep, class Period>
    bool join_for(const std::chrono::duration<Rep, Period>& d) {
        return join_until(detail::deadline_in(d));
    }
    template <class Clock, class Duration>
    bool join_until(const std::chrono::time_point<Clock, Duration>& t) {
        detail::require_joinable(static_cast<bool>(ref_));
        return ref_.wait_until(detail::deadline_at(t));
    }
    [[nodiscard]] bool joinable() const noexcept { return static_cast<bool>(ref_); }
    [[nodiscard]] bool done() const noexcept { return ref_ && ref_.done(); }
    /// Asks this child alone to end. If it ends for that reason, that is no failure.
    bool request_stop() noexcept { return ref_ && ref_.request_stop(); }
    [[nodiscard]] std::stop_token stop_token() const { return ref_ ? ref_.stop_token() : std::stop_token(); }
    [[nodiscard]] fiber_id id() const noexcept { return {ref_ ? ref_.id() : 0}; }

    /// Internal: for weft's own parts.
    explicit child(detail::fiber_ref ref) noexcept : ref_(std::move(ref)) {}
    [[nodiscard]] const detail::fiber_ref& ref() const noexcept { return ref_; }

private:
    detail::fiber_ref ref_;
};

/// Starts children that end before with_scope() returns. The body of with_scope() gets it; the body
/// and the children may use it for as long as they run.
///
///     weft::with_scope([&](weft::scope& s) {
///         for (const std::string& url : urls) s.spawn(fetch, url);
///     });  // all have ended here
class scope {
public:
    /// Starts a child, as weft::spawn() starts a fiber. In a stopped scope the child starts
    /// stopped.
    ///
    /// \parks   while there are scope_options::limit children, and where weft::spawn() does.
    /// \throws  what weft::spawn() throws; with a limit, cancelled if the caller is stopped before
    ///          there is a place.
    WEFT_DETAIL_SPAWN_FORMS(spawn, this->spawn_at)
    template <class F, class... A>
    auto spawn(const attributes& a, F&& f, A&&... args) {
        detail::scope_place place(core_);
        detail::made_fiber<detail::start_as::joinable, F, A...> made(core_.where(), a, std::forward<F>(f),
                                                                     std::forward<A>(args)...);
        return child<detail::spawn_result_t<F, A...>>(core_.start(made, made.body, place));
    }

    /// Stops all children, also those still to come, and the body. with_scope() absorbs the
    /// `cancelled` that this causes in the body.
    void request_stop() noexcept { core_.request_stop(); }
    /// \returns a token that is stopped when the scope is.
    [[nodiscard]] std::stop_token stop_token() const { return core_.stop_token(); }
    /// \returns how many children have not ended.
    [[nodiscard]] std::size_t size() const noexcept { return core_.size(); }

    /// Internal: for weft's own parts.
    explicit scope(detail::scope_core& core) noexcept : core_(core) {}

private:
    template <class F, class... A>
    [[gnu::always_inline]] auto spawn_at(detail::call_site site, F&& f, A&&... args) {
        detail::scope_place place(core_);
        detail::made_fiber<detail::start_as::joinable, F, A...> made(&core_.where(), site.where, std::forward<F>(f),
                                                                     std::forward<A>(args)...);
        return child<detail::spawn_result_t<F, A...>>(core_.start(made, made.body, place));
    }

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

/// Runs body(scope&), and returns when the body and all children that it started have ended.
///
/// \returns what the body returns.
/// \throws  the first failure, of the body or (with on_failure::stop_all) of a child; further ones
///          go to on_further_failure. A stop or an expired deadline of the caller stops the
///          children too, and leaves as `cancelled`. A `cancelled` caused by scope::request_stop()
///          is absorbed if the body returns nothing; otherwise there is no value to return and it
///          is rethrown.
/// \parks   until the last child has ended. This wait is never cut short, but it hands a stop on to
///          the children.
template <class F>
auto with_scope(const scope_options& options, F&& body) -> std::invoke_result_t<F, scope&> {
    return detail::with_scope_in(detail::runtime_here("weft::with_scope"), options, std::forward<F>(body));
}
template <class F>
auto with_scope(F&& body) -> std::invoke_result_t<F, scope&> {
    return with_scope(scope_options{}, std::forward<F>(body));
}

/// Starts the children in `rt`, and may be called from any thread. The body runs where the caller
/// is; if that is a plain thread, its scope stops it as it would stop a fiber.
template <std::same_as<runtime> Runtime, class F>
auto with_scope(Runtime& rt, const scope_options& options, F&& body) -> std::invoke_result_t<F, scope&> {
    return detail::with_scope_in(scheduler_behind(rt), options, std::forward<F>(body));
}
template <std::same_as<runtime> Runtime, class F>
auto with_scope(Runtime& rt, F&& body) -> std::invoke_result_t<F, scope&> {
    return with_scope(rt, scope_options{}, std::forward<F>(body));
}

}  // namespace weft

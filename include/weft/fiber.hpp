// fiber.hpp - straight-line threads of control: start one, wait for its result, ask it to stop.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

#include <chrono>
#include <compare>
#include <cstdint>
#include <memory>
#include <source_location>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include <weft/deadline.hpp>
#include <weft/detail/as_thread.hpp>
#include <weft/detail/new_fiber.hpp>
#include <weft/detail/pin.hpp>
#include <weft/detail/spawn_forms.hpp>
#include <weft/detail/task.hpp>
#include <weft/detail/timeouts.hpp>
#include <weft/migrate.hpp>
#include <weft/priority.hpp>

namespace weft {

class runtime;

/// Names a fiber. No two fibers of a process run have the same number, living or dead, however many
/// there are. 0 names no fiber.
///
///     weft::fiber_id me = weft::this_fiber::id();
///     std::cout << me.value;
struct fiber_id {
    std::uint64_t value = 0;
    friend auto operator<=>(const fiber_id&, const fiber_id&) = default;
};

/// What handlers and dumps are told about a fiber. Valid only during the call that gets it.
///
///     rt.for_each_fiber([](const weft::fiber_info& f) { std::cout << f.name << '\n'; });
struct fiber_info {
    fiber_id id;
    std::string_view name;           ///< may be empty
    /// line 0 if it was spawned with more than five arguments and without attributes, except by
    /// weft::spawn(rt, ...) and weft::spawn_detached(rt, ...)
    std::source_location site;
    std::string_view state;          ///< created, runnable, running, waiting, done
    std::string_view waits_for;      ///< why it waits, or "nothing"
    bool detached = false;
    weft::priority priority = weft::priority::normal;
};

/// What join() throws when the fiber was stopped and therefore has no result, but the caller was
/// not stopped. what() names the fiber. See docs/guide/3-waiting.md.
class WEFT_EXPORT fiber_cancelled : public std::runtime_error {
public:
    explicit fiber_cancelled(const std::string& what) : std::runtime_error(what) {}
};

/// How a fiber is started.
///
///     auto right = weft::spawn({.name = "right", .stack_bytes = 1 << 20}, [] { return count(); });
struct attributes {
    /// For dumps and reports. Copied; at most 47 bytes are kept.
    std::string_view name = {};
    /// Address space of the stack, 16 KiB to 1 GiB; 0: the runtime's default.
    std::size_t stack_bytes = 0;
    /// Which carriers may run the fiber. spawn() throws std::system_error (EAGAIN) if the fiber
    /// needs a carrier and none can be had.
    migrate move = migrate::always;
    /// If false, the fiber keeps its worker while it computes or blocks, however long, and other
    /// fibers wait meanwhile (see runtime_options::time_slice).
    bool preempt = true;
    /// If true, the spawner gives its worker to the fiber at once, and goes on when the fiber first
    /// waits, yields or ends, or before that if another worker takes the spawner. With one worker
    /// and no time slice there is no other, so the fiber begins before spawn() returns. A stop does
    /// not end the spawner there. Without effect where the caller has no worker of that runtime to
    /// give: on a plain thread, in a fiber of another runtime, in one that has lost its worker by
    /// computing or never has one (migrate::own_carrier). Not to be combined with a `move` of
    /// migrate::own_carrier: spawn() throws std::invalid_argument.
    bool run_now = false;
    /// If true, the fiber is a thread to the code it calls, wherever it runs: errno, thread_local
    /// objects, pthread_self() and keys belong to the fiber, and it owns the locks it takes. A later
    /// fiber may find the values that an earlier one left in thread_local objects, as in a pool of
    /// threads (runtime_options::keep_identities). Under sanitizers and Valgrind, and with a C library
    /// that weft does not know, the fiber gets an OS thread of its own instead, as with
    /// migrate::own_carrier. spawn() throws std::system_error if the system refuses a thread. See
    /// docs/guide/19-as-a-thread.md.
    bool as_thread = false;
    /// A weft::priority. If none is given: the spawner's, or normal if a plain thread spawns.
    detail::priority_choice priority = {};
    std::source_location site = std::source_location::current();
};

/// A handle to a fiber with a result of type T. Move-only. The destructor requests stop and joins,
/// shielded, as that of std::jthread does. If the body failed and no join() took the failure, the
/// failure then goes to runtime_options::on_unhandled.
///
///     weft::fiber<int> answer = weft::spawn([] { return 42; });
///     weft::fiber<> clock = weft::spawn({.name = "clock"}, tick_for_ever);
///     int n = answer.join();  // the destructor of `clock` stops that fiber and joins it
///
/// Like other objects, a handle is used by one fiber or thread at a time. One exception: while no
/// call joins, detaches, moves or destroys the handle, several fibers and threads may be in
/// join_for(), join_until() and on_join() at once. A join() that finds another join() waiting stops
/// the program. A join() that comes when the other one is just about to return is not noticed,
/// because noticing it would cost every join an atomic operation.
template <class T = void>
class [[nodiscard]] fiber {
public:
    using result_type = T;

    fiber() noexcept = default;
    fiber(fiber&&) noexcept = default;
    fiber& operator=(fiber&& other) noexcept {
        fiber(std::move(other)).swap(*this);
        return *this;
    }
    ~fiber() {
        if (!ref_) return;
        ref_.request_stop();
        ref_.wait_shielded();
        ref_.report_unhandled();
    }

    /// Waits for the end of the body and takes its result. Call it once: the handle is empty
    /// afterwards.
    ///
    /// If the body has not begun, the caller may run it in place: on the caller's own stack, if
    /// half of that is left. The body still runs as the fiber that was spawned. While it runs in
    /// place, a stop of the caller also stops that fiber. Where the work must survive a stop of its
    /// joiner, join under a shield.
    ///
    /// \returns the result of the body.
    /// \throws  what the body threw; fiber_cancelled if the body ended by `cancelled` and the
    ///          caller was not asked to stop; cancelled if the caller was asked to stop as well, or
    ///          if it is stopped before the body has ended (in that last case the handle stays
    ///          joinable).
    /// \parks   until the body has ended.
    /// \orders  everything the body did happens before the return.
    T join() {
        const detail::joined_fiber ended(ref_);
        if (ended.body().failure()) [[unlikely]]
            ended.raise_failure();
        return static_cast<detail::result_task<T>&>(ended.body()).take();
    }

    /// Waits for the end of the body, up to a limit of time, and takes nothing.
    /// \returns whether the body has ended; join() then does not wait. \parks \throws cancelled
    template <class Rep, class Period>
    bool join_for(const std::chrono::duration<Rep, Period>& d) {
        return join_until(detail::deadline_in(d));
    }
    template <class Clock, class Duration>
    bool join_until(const std::chrono::time_point<Clock, Duration>& t) {
        detail::require_joinable(static_cast<bool>(ref_));
        return ref_.wait_until(detail::deadline_at(t));
    }

    /// Lets the fiber run on without a handle. If its body fails, the failure goes to on_unhandled.
    void detach() {
        detail::require_joinable(static_cast<bool>(ref_));
        ref_.detach();
    }

    [[nodiscard]] bool joinable() const noexcept { return static_cast<bool>(ref_); }
    [[nodiscard]] bool done() const noexcept { return ref_ && ref_.done(); }
    /// Asks the body to end: its next park point throws `cancelled`.
    /// \returns whether this was the first request.
    bool request_stop() noexcept { return ref_ && ref_.request_stop(); }
    [[nodiscard]] std::stop_token stop_token() const { return ref_ ? ref_.stop_token() : std::stop_token(); }
    [[nodiscard]] fiber_id id() const noexcept { return {ref_ ? ref_.id() : 0}; }
    void swap(fiber& other) noexcept { ref_.swap(other.ref_); }

    /// Internal: for weft's own parts.
    explicit fiber(detail::fiber_ref ref) noexcept : ref_(std::move(ref)) {}
    [[nodiscard]] const detail::fiber_ref& ref() const noexcept { return ref_; }

private:
    detail::fiber_ref ref_;
};

namespace detail {

template <class F, class... A>
auto spawn_in(scheduler& where, const attributes& a, F&& f, A&&... args) {
    using R = spawn_result_t<F, A...>;
    return fiber<R>(start_fiber<start_as::joinable>(where, a, std::forward<F>(f), std::forward<A>(args)...));
}

// What the forms of spawn() and spawn_detached() call, without attributes. These are part of every
// spawn, so they are inlined always.
template <class F, class... A>
[[gnu::always_inline]] inline auto spawn_at(call_site site, F&& f, A&&... args) {
    using R = spawn_result_t<F, A...>;
    return fiber<R>(
        start_fiber_here<start_as::joinable>("weft::spawn", site.where, std::forward<F>(f), std::forward<A>(args)...));
}
template <class F, class... A>
[[gnu::always_inline]] inline void spawn_detached_at(call_site site, F&& f, A&&... args) {
    start_fiber_here<start_as::detached>("weft::spawn_detached", site.where, std::forward<F>(f), std::forward<A>(args)...);
}

}  // namespace detail

/// Starts f(args...) as a fiber of the current runtime. The function and the arguments are copied
/// or moved into the fiber. If the first parameter of f is a std::stop_token, weft supplies it, as
/// std::jthread does. The body always runs: a fiber that is stopped before it has started learns of
/// it at its first park point.
///
/// Dumps and reports name the place of the call, or that of the attributes if there are any. With
/// more than five arguments there is none without attributes, unless a runtime stands before f.
///
///     auto sum = weft::spawn(add, 1, 2);  // spawn(f, args...) -> fiber<R>
///
/// \returns  the handle; dropping it stops and joins the fiber.
/// \parks    only at runtime_options::max_fibers, if at_limit says so, and with
///           attributes::run_now, while the new fiber has the worker.
/// \throws   std::bad_alloc; std::invalid_argument for a bad attributes::stack_bytes or run_now; at
///           max_fibers, std::system_error (at_limit::fail), or cancelled if the caller is stopped
///           before there is room. On a plain thread the program stops with a message: use
///           weft::run there.
WEFT_DETAIL_SPAWN_FORMS(spawn, ::weft::detail::spawn_at)
template <class F, class... A>
auto spawn(const attributes& a, F&& f, A&&... args) {
    return detail::spawn_in(detail::runtime_here("weft::spawn"), a, std::forward<F>(f), std::forward<A>(args)...);
}

/// Starts the fiber in `rt`, from any thread; does what rt.spawn(a...) does.
template <detail::not_attributes F, class... A>
auto spawn(detail::runtime_at rt, F&& f, A&&... args) {
    return detail::runtime_of<F>(rt).spawn(attributes{.site = rt.where}, std::forward<F>(f), std::forward<A>(args)...);
}
template <std::same_as<runtime> Runtime, class... A>
auto spawn(Runtime& rt, const attributes& how, A&&... a) {
    return rt.spawn(how, std::forward<A>(a)...);
}

/// Starts f(args...) as spawn() does, but returns no handle. If the body fails, the failure goes to
/// runtime_options::on_unhandled.
template <class F, class... A>
void spawn_detached(const attributes& a, F&& f, A&&... args) {
    detail::start_fiber<detail::start_as::detached>(detail::runtime_here("weft::spawn_detached"), a, std::forward<F>(f),
                                                    std::forward<A>(args)...);
}
WEFT_DETAIL_SPAWN_FORMS(spawn_detached, ::weft::detail::spawn_detached_at)
template <detail::not_attributes F, class... A>
void spawn_detached(detail::runtime_at rt, F&& f, A&&... args) {
    detail::runtime_of<F>(rt).spawn_detached(attributes{.site = rt.where}, std::forward<F>(f), std::forward<A>(args)...);
}
template <std::same_as<runtime> Runtime, class... A>
void spawn_detached(Runtime& rt, const attributes& how, A&&... a) {
    rt.spawn_detached(how, std::forward<A>(a)...);
}

/// Functions that concern the calling fiber. On a plain thread they concern that thread.
namespace this_fiber {

/// Lets other fibers that are ready run first. \parks if there are any. \throws cancelled
WEFT_EXPORT void yield();
/// Sleeps until the time given. \parks \throws cancelled
WEFT_EXPORT void sleep_until(steady_time_point);
template <class Clock, class Duration>
void sleep_until(const std::chrono::time_point<Clock, Duration>& t) {
    sleep_until(detail::deadline_at(t));
}
/// Sleeps for the time given. \parks \throws cancelled
template <class Rep, class Period>
void sleep_for(const std::chrono::duration<Rep, Period>& d) {
    sleep_until(detail::deadline_in(d));
}
WEFT_EXPORT [[nodiscard]] fiber_id id() noexcept;  ///< 0 on a plain thread
WEFT_EXPORT [[nodiscard]] std::string_view name() noexcept;  ///< valid until set_name(); empty on a plain thread
WEFT_EXPORT void set_name(std::string_view) noexcept;  ///< does nothing on a plain thread
WEFT_EXPORT [[nodiscard]] std::stop_token stop_token();
WEFT_EXPORT [[nodiscard]] weft::priority priority() noexcept;  ///< normal on a plain thread
/// \returns the bytes of stack left below the caller's frame; 0 on a plain thread, whose stack is
///          not weft's.
WEFT_EXPORT [[nodiscard]] std::size_t stack_remaining() noexcept;
/// Calls f(). During that call the calling fiber stays on its carrier, that is on its OS thread,
/// whatever it waits for; and while another fiber computes on that thread, this one waits. Calls
/// nest.
///
///     this_fiber::pinned([] { draw_with_a_library_that_belongs_to_this_thread(); });
///
/// \returns what f returns. \throws what f throws.
template <class F>
decltype(auto) pinned(F&& f) {
    const detail::pin here;
    return std::forward<F>(f)();
}
/// Calls f(). During that call the calling fiber is a thread to the code it calls, as with
/// attributes::as_thread, and may still wait and go on on another OS thread. Calls nest. On a plain
/// thread it only calls f().
///
///     auto rows = this_fiber::as_thread([&] { return query_by_a_library_in_c(database); });
///
/// \returns what f returns. \throws what f throws; std::system_error if the system refuses a thread.
/// \parks where attributes::as_thread means an OS thread of its own, to go there and back.
template <class F>
decltype(auto) as_thread(F&& f) {
    const detail::as_thread_scope here;
    return detail::call_apart(std::forward<F>(f));
}

}  // namespace this_fiber
}  // namespace weft

template <>
struct std::hash<weft::fiber_id> {
    std::size_t operator()(weft::fiber_id id) const noexcept { return std::hash<std::uint64_t>{}(id.value); }
};

// fiber.hpp - straight-line threads of control: start one, wait for its result, ask it to stop.
#pragma once

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
#include <weft/detail/migrate.hpp>
#include <weft/detail/new_fiber.hpp>
#include <weft/detail/pin.hpp>
#include <weft/detail/priority.hpp>
#include <weft/detail/task.hpp>
#include <weft/detail/timeouts.hpp>

namespace weft {

class runtime;

/// Unique among the fibers of a process run, living and dead, however many there are; 0 is nobody.
struct fiber_id {
    std::uint64_t value = 0;
    friend auto operator<=>(const fiber_id&, const fiber_id&) = default;
};

/// What handlers and dumps are told about a fiber. Valid during the call.
struct fiber_info {
    fiber_id id;
    std::string_view name;           ///< may be empty
    std::source_location site;       ///< line 0 if it was spawned with arguments and without attributes
    std::string_view state;          ///< created, runnable, running, waiting, done
    std::string_view waits_for;      ///< why it waits, or "nothing"
    bool detached = false;
    weft::priority priority = weft::priority::normal;
};

/// A join of a fiber that was stopped, by a caller that was not: there is no result. what() names the fiber.
class fiber_cancelled : public std::runtime_error {
public:
    explicit fiber_cancelled(const std::string& what) : std::runtime_error(what) {}
};

struct attributes {
    std::string_view name = {};          ///< for dumps and reports; copied, at most 47 bytes are kept
    std::size_t stack_bytes = 0;         ///< address space of the stack, 16 KiB to 1 GiB; 0: the runtime's default
    migrate move = migrate::always;      ///< spawn() throws std::system_error (EAGAIN) where no carrier can be had
    bool preempt = true;  ///< false: others wait while it computes or blocks, however long (runtime_options::time_slice)
    detail::priority_choice priority = {};  ///< a weft::priority; not given: the spawner's, and normal if that is a plain thread
    std::source_location site = std::source_location::current();
};

/// A handle to a fiber with a result of type T. Move-only. The destructor requests stop and joins, shielded, as std::jthread's;
/// a failure that nobody took then goes to runtime_options::on_unhandled.
///
/// A handle is for one at a time, as any object; but several may be in join_for(), join_until() and on_join() at once while nobody
/// joins, detaches, moves or destroys it. A join() that finds another one waiting stops the program; one that comes when the other is
/// just about to return is not noticed, since that would cost every join an atomic operation.
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

    /// Waits for the end of the body. Once: afterwards the handle is empty.
    ///
    /// If the body has not begun, the caller may run it itself, on its own stack, of which half is left then, but as the fiber it
    /// is. A stop of the caller meanwhile stops that fiber too: where work must survive its joiner's stop, join under a shield.
    ///
    /// \returns the result of the body.
    /// \throws  what the body threw; fiber_cancelled if it ended by `cancelled`, while the caller was not asked to stop; cancelled if the
    ///          caller was, or is stopped before the body has ended (the handle then stays joinable).
    /// \parks   until the body has ended.
    /// \orders  everything the body did happens before the return.
    T join() {
        const detail::joined_fiber ended(ref_);
        if (ended.body().failure()) [[unlikely]]
            ended.raise_failure();
        return static_cast<detail::result_task<T>&>(ended.body()).take();
    }

    /// Waits only. \returns whether the body has ended; join() then does not wait. \parks \throws cancelled
    template <class Rep, class Period>
    bool join_for(const std::chrono::duration<Rep, Period>& d) {
        return join_until(detail::deadline_in(d));
    }
    template <class Clock, class Duration>
    bool join_until(const std::chrono::time_point<Clock, Duration>& t) {
        detail::require_joinable(static_cast<bool>(ref_));
        return ref_.wait_until(detail::deadline_at(t));
    }

    /// Lets it run on without a handle; a failure of its body goes to on_unhandled.
    void detach() {
        detail::require_joinable(static_cast<bool>(ref_));
        ref_.detach();
    }

    bool joinable() const noexcept { return static_cast<bool>(ref_); }
    bool done() const noexcept { return ref_ && ref_.done(); }
    /// Asks the body to end: its next park point throws `cancelled`. \returns whether this was the first request.
    bool request_stop() noexcept { return ref_ && ref_.request_stop(); }
    std::stop_token stop_token() const { return ref_ ? ref_.stop_token() : std::stop_token(); }
    fiber_id id() const noexcept { return {ref_ ? ref_.id() : 0}; }
    void swap(fiber& other) noexcept { ref_.swap(other.ref_); }

    /// For weft's own parts.
    explicit fiber(detail::fiber_ref ref) noexcept : ref_(std::move(ref)) {}
    const detail::fiber_ref& ref() const noexcept { return ref_; }

private:
    detail::fiber_ref ref_;
};

namespace detail {

template <class F, class... A>
auto spawn_in(scheduler& where, const attributes& a, F&& f, A&&... args) {
    using R = spawn_result_t<F, A...>;
    return fiber<R>(start_fiber<start_as::joinable>(where, a, std::forward<F>(f), std::forward<A>(args)...));
}

template <class F>
concept not_attributes = !std::same_as<std::remove_cvref_t<F>, attributes> && !std::same_as<std::remove_cvref_t<F>, runtime>;

}  // namespace detail

/// Starts f(args...) as a fiber of the current runtime. Function and arguments are copied or moved into it; a leading
/// std::stop_token parameter is supplied, as by std::jthread. The body always runs: a fiber stopped before it started sees
/// it at its first park point. `site` is what dumps and reports say of where it comes from; a fiber with arguments has one only if its
/// attributes do.
///
/// \returns  the handle; dropping it stops and joins the fiber.
/// \parks    only in a runtime that has runtime_options::max_fibers, when there are so many and at_limit says so.
/// \throws   std::bad_alloc; std::invalid_argument: attributes::stack_bytes; at that limit std::system_error (at_limit::fail), and
///           cancelled if the caller is stopped before there is a place. On a plain thread the program stops: use weft::run.
template <class F>
    requires detail::not_attributes<F>
auto spawn(F&& f, detail::call_site site = {}) {
    using R = detail::spawn_result_t<F>;
    return fiber<R>(detail::start_fiber_here<detail::start_as::joinable>("weft::spawn", site.where, std::forward<F>(f)));
}
template <class F, class... A>
    requires(detail::not_attributes<F> && sizeof...(A) > 0)
auto spawn(F&& f, A&&... args) {
    using R = detail::spawn_result_t<F, A...>;
    return fiber<R>(
        detail::start_fiber_here<detail::start_as::joinable>("weft::spawn", {}, std::forward<F>(f), std::forward<A>(args)...));
}
template <class F, class... A>
auto spawn(const attributes& a, F&& f, A&&... args) {
    return detail::spawn_in(detail::runtime_here("weft::spawn"), a, std::forward<F>(f), std::forward<A>(args)...);
}

/// In `rt`, from any thread: rt.spawn(a...).
template <std::same_as<runtime> Runtime, class F>
    requires detail::not_attributes<F>
auto spawn(Runtime& rt, F&& f, detail::call_site site = {}) {
    return rt.spawn(std::forward<F>(f), site);
}
template <std::same_as<runtime> Runtime, class... A>
auto spawn(Runtime& rt, A&&... a) {
    return rt.spawn(std::forward<A>(a)...);
}
template <std::same_as<runtime> Runtime, class... A>
auto spawn(Runtime& rt, const attributes& how, A&&... a) {
    return rt.spawn(how, std::forward<A>(a)...);
}

/// The same without a handle. A failure of the body goes to runtime_options::on_unhandled.
template <class F, class... A>
void spawn_detached(const attributes& a, F&& f, A&&... args) {
    detail::start_fiber<detail::start_as::detached>(detail::runtime_here("weft::spawn_detached"), a, std::forward<F>(f),
                                                    std::forward<A>(args)...);
}
template <class F>
    requires detail::not_attributes<F>
void spawn_detached(F&& f, detail::call_site site = {}) {
    detail::start_fiber_here<detail::start_as::detached>("weft::spawn_detached", site.where, std::forward<F>(f));
}
template <class F, class... A>
    requires(detail::not_attributes<F> && sizeof...(A) > 0)
void spawn_detached(F&& f, A&&... args) {
    detail::start_fiber_here<detail::start_as::detached>("weft::spawn_detached", {}, std::forward<F>(f),
                                                         std::forward<A>(args)...);
}
template <std::same_as<runtime> Runtime, class F>
    requires detail::not_attributes<F>
void spawn_detached(Runtime& rt, F&& f, detail::call_site site = {}) {
    rt.spawn_detached(std::forward<F>(f), site);
}
template <std::same_as<runtime> Runtime, class... A>
void spawn_detached(Runtime& rt, A&&... a) {
    rt.spawn_detached(std::forward<A>(a)...);
}
template <std::same_as<runtime> Runtime, class... A>
void spawn_detached(Runtime& rt, const attributes& how, A&&... a) {
    rt.spawn_detached(how, std::forward<A>(a)...);
}

/// The calling fiber; on a plain thread the same calls act on the thread.
namespace this_fiber {

/// Lets other fibers that are ready run first. \parks if there are any. \throws cancelled
void yield();
/// \parks \throws cancelled
void sleep_until(steady_time_point);
template <class Clock, class Duration>
void sleep_until(const std::chrono::time_point<Clock, Duration>& t) {
    sleep_until(detail::deadline_at(t));
}
/// \parks \throws cancelled
template <class Rep, class Period>
void sleep_for(const std::chrono::duration<Rep, Period>& d) {
    sleep_until(detail::deadline_in(d));
}
fiber_id id() noexcept;  ///< 0 on a plain thread
std::string_view name() noexcept;  ///< valid until set_name(); empty on a plain thread
void set_name(std::string_view) noexcept;  ///< nothing happens on a plain thread
std::stop_token stop_token();
weft::priority priority() noexcept;  ///< normal on a plain thread
/// Bytes left below the caller's frame; of a plain thread's stack 0, since it is not weft's.
std::size_t stack_remaining() noexcept;
/// f(), during which the calling fiber stays on its carrier, that is OS thread, whatever it waits for. Nests. While another fiber
/// computes on that thread it waits.
///
/// \returns what f returns. \throws what f throws.
template <class F>
decltype(auto) pinned(F&& f) {
    const detail::pin here;
    return std::forward<F>(f)();
}

}  // namespace this_fiber
}  // namespace weft

template <>
struct std::hash<weft::fiber_id> {
    std::size_t operator()(weft::fiber_id id) const noexcept { return std::hash<std::uint64_t>{}(id.value); }
};

// supervisor.hpp - starts actors, restarts those that end, and gives up when they end too often.
//
// Rules
//   1  References survive restarts, and so does the mailbox: what was sent and not handled, the
//      next life handles. Only the message whose handler threw, or was ended by
//      kill(), is lost; if it was sent by an ask, the ask throws actor_gone.
//   2  A restart makes the object anew, from copies of the arguments it was started with.
//   3  Children are stopped in the reverse order of their start, one after another: by stop()
//      first, and by kill() if one has not ended within its `shutdown` time.
//   4  When there are more than max_restarts restarts within `within`, the supervisor gives up and
//      its children are stopped. If it has a supervisor of its own, that one is told as of any
//      child that failed, and may restart it with all its children. Otherwise all have ended for
//      good.
//   5  A child that is not to be restarted is removed.
//   6  At max_fibers a restart waits for a place, whatever at_limit says; that is no failure of the
//      child. With at_limit::fail each attempt that finds no place counts as a refused spawn
//      (runtime_stats::refused). start() itself does what spawn() does.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <weft/actor.hpp>
#include <weft/detail/export.hpp>
#include <weft/detail/supervisor_core.hpp>

namespace weft {

/// What is restarted when a child has ended. one_for_one: that child. one_for_all: all children.
/// rest_for_one: that child and those started after it.
enum class restart : std::uint8_t { one_for_one, one_for_all, rest_for_one };

/// After which ends a child is restarted. permanent: after all. transient: after abnormal ones,
/// i.e. when it was killed or has failed. temporary: after none.
enum class child_kind : std::uint8_t { permanent, transient, temporary };

/// How a child is made.
///
///     lab.start<sensor>({.name = "s1", .keep = weft::child_kind::transient, .mailbox = 64});
struct child_attributes {
    std::string_view name = {};  ///< for errors, reports and dumps; copied
    child_kind keep = child_kind::permanent;
    std::size_t mailbox = unbounded;  ///< as actor_attributes::mailbox
    weft::overflow overflow = overflow::park;  ///< as actor_attributes::overflow
    /// How long stop() may take; after that the child is killed.
    std::chrono::nanoseconds shutdown = std::chrono::seconds(5);
    std::size_t stack_bytes = 0;  ///< as attributes::stack_bytes
    migrate move = migrate::always;  ///< as attributes::move, for each life anew
    bool preempt = true;  ///< as attributes::preempt
    /// As attributes::priority. If none is given: in its first life that of the fiber that starts
    /// the child, later that of the supervisor.
    detail::priority_choice priority = {};
};

/// What a supervisor has seen of a child. Valid only during the call of supervisor_options::on_end.
/// See docs/guide/10-actors.md.
struct child_report {
    std::string_view supervisor;
    std::string_view child;
    const exit_reason& reason;
    bool restarts;  ///< false: the child is removed, or the supervisor gives up
};

/// How a supervisor treats its children. See docs/guide/10-actors.md.
struct supervisor_options {
    restart strategy = restart::one_for_one;
    unsigned max_restarts = 3;
    std::chrono::nanoseconds within = std::chrono::seconds(5);
    std::string_view name = {};  ///< copied
    /// Called for each end that the supervisor did not bring about itself, on the supervisor's
    /// fiber. What it throws is printed and ignored.
    std::function<void(const child_report&)> on_end = {};
};

/// The failure of a supervisor that has given up, and of its children, in the reason() of their
/// actor_gone. what() names the child and its last failure. See docs/guide/10-actors.md.
class WEFT_EXPORT restart_limit : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

class supervisor;

/// A reference to a supervisor that is a child of another one. A handle: copies name the same
/// supervisor. After its own stop(), close() or kill() the supervisor is restarted if its
/// child_kind says so, as an actor is.
///
///     auto branch = top.start<weft::supervisor>({.name = "branch"}, {.max_restarts = 10});
///     auto ann = branch.start<account>({.name = "ann"}, 100);
template <>
class actor_ref<supervisor> {
public:
    /// Starts a child as spawn_actor() does, but from copies of the arguments.
    ///
    /// \returns  a reference that survives restarts.
    /// \throws   actor_gone if the supervisor has ended or is ending; what spawn_actor() throws.
    template <class A, class... Args>
        requires(!std::same_as<A, supervisor>)
    actor_ref<A> start(const child_attributes& a, Args&&... args) const {
        const actor_attributes how{.name = a.name,
                                   .mailbox = a.mailbox,
                                   .overflow = a.overflow,
                                   .stack_bytes = a.stack_bytes,
                                   .move = a.move,
                                   .preempt = a.preempt,
                                   .priority = a.priority};
        detail::actor_core_ref made(
            detail::make_actor(how, detail::make_program<A, detail::lives::again>(std::forward<Args>(args)...)));
        detail::add_child(core(), a, made.core());
        return actor_ref<A>(std::move(made));
    }
    /// Starts a supervisor as a child, which ends with this one.
    template <std::same_as<supervisor> S>
    actor_ref<supervisor> start(const child_attributes& a, const supervisor_options& options = {}) const {
        return actor_ref<supervisor>(detail::make_supervisor(core(), a, options));
    }

    /// Stops a child for good (rule 3) and removes it. Does not wait.
    /// \returns false if it is no child of this supervisor.
    bool stop(const actor_handle& child) const noexcept { return detail::stop_child(core(), child.ref().core()); }
    /// Stops a child that is a supervisor, with all its children, for good, and removes it. If the
    /// child's own stop() is called instead and it is permanent, it is restarted.
    bool stop(const actor_ref& child) const noexcept { return detail::stop_child(core(), child.core()); }
    /// Stops the children and ends. Does not wait; monitor() tells when it is done.
    void stop() const noexcept { detail::supervisor_stop(core()); }
    /// Ends the supervisor after its children have handled what they have accepted: closes one
    /// child after another, in the order of rule 3 but without a limit of time, and accepts no new
    /// ones. A child that fails meanwhile is not restarted. Does not wait. stop() and kill() may
    /// follow.
    void close() const noexcept { detail::supervisor_close(core()); }
    /// Kills the children and ends. Does not wait.
    void kill() const noexcept { detail::supervisor_kill(core()); }

    /// \returns whether the supervisor has ended for good: a snapshot.
    [[nodiscard]] bool ended() const noexcept { return detail::supervisor_has_ended(core()); }
    /// \returns supervisor_options::name, or else the name it has as a child.
    [[nodiscard]] std::string_view name() const noexcept { return detail::supervisor_name(core()); }
    /// False once the handle was moved from; it may then only be assigned to, or destroyed.
    explicit operator bool() const noexcept { return core_ != nullptr; }

    /// \returns whether the supervisor has failed for good: it has given up, or something that it
    ///          was linked with has ended abnormally.
    [[nodiscard]] bool failed() const noexcept { return detail::supervisor_has_failed(core()); }
    /// \returns how many children it has: a snapshot.
    [[nodiscard]] std::size_t size() const noexcept { return detail::supervisor_size(core()); }
    /// \returns how many times it has restarted children since it was made.
    [[nodiscard]] std::size_t restarts() const noexcept { return detail::supervisor_restarts(core()); }
    /// \returns a receiver that gets the reason when the supervisor has ended for good, as
    ///          actor_handle::monitor() does.
    [[nodiscard]] receiver<exit_reason> monitor() const { return detail::supervisor_monitor(core()); }

    friend bool operator==(const actor_ref&, const actor_ref&) noexcept = default;

    /// Internal: for weft's own parts.
    explicit actor_ref(std::shared_ptr<detail::supervisor_core> made) noexcept : core_(std::move(made)) {}
    detail::supervisor_core& core() const noexcept {
        if (!core_) detail::empty_supervisor_ref();
        return *core_;
    }

    const void* get() const noexcept { return core_.get(); }

private:
    std::shared_ptr<detail::supervisor_core> core_;
};

/// A supervisor that has no supervisor of its own. The destructor stops the children and waits for
/// their end. A child must not run that destructor: it would wait for itself.
///
///     weft::supervisor bank({.strategy = weft::restart::one_for_one, .max_restarts = 3});
///     weft::actor_ref<account> ann = bank.start<account>({.name = "ann"}, 100);
///     ann.send(account::deposit{250});  // the reference survives restarts
///
/// See docs/guide/10-actors.md.
class supervisor : public actor_ref<supervisor> {
public:
    /// Runs in the current runtime, or in `rt`. On a plain thread without `rt` the program stops
    /// with a message: name a runtime there.
    ///
    /// \throws  std::invalid_argument for a period that is not positive; what spawn() throws.
    explicit supervisor(const supervisor_options& options = {}) : actor_ref(detail::make_supervisor(options)) {
        detail::start_supervisor(core(), "weft::supervisor");
    }
    supervisor(runtime& rt, const supervisor_options& options = {}) : actor_ref(detail::make_supervisor(options)) {
        detail::start_supervisor(core(), rt);
    }
    supervisor(const supervisor&) = delete;
    supervisor& operator=(const supervisor&) = delete;
    /// \parks until all children have ended; never interrupted.
    ~supervisor() { detail::supervisor_join(core()); }
};

namespace detail {

template <class T>
concept supervisor_handle = std::derived_from<T, actor_ref<supervisor>>;
template <class T>
concept link_handle = supervisor_handle<T> || std::derived_from<T, actor_handle>;

inline linkable& end_of_link(const actor_handle& a) noexcept { return end_of_link(a.ref().core()); }
inline linkable& end_of_link(const actor_ref<supervisor>& s) noexcept { return end_of_link(s.core()); }

}  // namespace detail

/// Links a supervisor with an actor or with another supervisor, as link() of two actors does. A
/// supervisor ends abnormally if it is killed, gives up, or fails by such a link; then its children
/// are stopped and the others are told. If the other end ends abnormally, the supervisor fails with
/// linked_failure, and its own supervisor may restart it.
///
/// \throws  actor_gone if one of them has ended for good.
template <detail::link_handle A, detail::link_handle B>
    requires(detail::supervisor_handle<A> || detail::supervisor_handle<B>)
void link(const A& a, const B& b) {
    detail::link_ends(detail::end_of_link(a), detail::end_of_link(b));
}
/// Takes such a link away.
template <detail::link_handle A, detail::link_handle B>
    requires(detail::supervisor_handle<A> || detail::supervisor_handle<B>)
void unlink(const A& a, const B& b) noexcept {
    detail::unlink_ends(detail::end_of_link(a), detail::end_of_link(b));
}

}  // namespace weft

template <>
struct std::hash<weft::actor_ref<weft::supervisor>> {
    std::size_t operator()(const weft::actor_ref<weft::supervisor>& s) const noexcept {
        return std::hash<const void*>{}(s.get());
    }
};

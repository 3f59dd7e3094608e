// supervisor.hpp - keeps actors alive: starts them, restarts those that end, and gives up when they end too often.
//
// Rules
//   1  References survive restarts, and so does the mailbox: what was sent and not handled, the next life handles. Lost is the one
//      message whose handler threw; who asked with it gets actor_gone.
//   2  A restart makes the object anew, from copies of the arguments it was started with.
//   3  Children are stopped in the reverse order of their start, one after another: stop() first, and kill() for one that has not
//      ended within its `shutdown` time.
//   4  More than max_restarts restarts within `within`: the supervisor gives up. Its children are stopped; a supervisor of its own
//      hears of it as of any child that failed, and may restart it with all its children; else they have ended for good.
//   5  A child that is not to be restarted is removed.
//   6  A restart waits for a place where there are max_fibers, whatever at_limit says: that is no failure of the child. start() itself
//      does as spawn().
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
#include <weft/detail/supervisor_core.hpp>

namespace weft {

/// What is restarted when a child has ended: that one; all; that one and those started after it.
enum class restart : std::uint8_t { one_for_one, one_for_all, rest_for_one };

/// Which ends have a child restarted. permanent: all. transient: those that are abnormal, i.e. killed or failed. temporary: none.
enum class child_kind : std::uint8_t { permanent, transient, temporary };

/// How a child is made.
struct child_attributes {
    std::string_view name = {};  ///< for errors, reports and dumps; copied
    child_kind keep = child_kind::permanent;
    std::size_t mailbox = unbounded;  ///< as actor_attributes::mailbox
    weft::overflow overflow = overflow::park;  ///< as actor_attributes::overflow
    std::chrono::nanoseconds shutdown = std::chrono::seconds(5);  ///< how long stop() may take; then the child is killed
    std::size_t stack_bytes = 0;  ///< as attributes::stack_bytes
    migrate move = migrate::always;  ///< as attributes::move, for each life anew
};

/// What a supervisor has seen of a child. Valid during the call of the hook.
struct child_report {
    std::string_view supervisor;
    std::string_view child;
    const exit_reason& reason;
    bool restarts;  ///< false: it is removed, or the supervisor gives up
};

struct supervisor_options {
    restart strategy = restart::one_for_one;
    unsigned max_restarts = 3;
    std::chrono::nanoseconds within = std::chrono::seconds(5);
    std::string_view name = {};  ///< copied
    /// Told of each end that a supervisor did not bring about. On the supervisor's fiber; must not throw.
    std::function<void(const child_report&)> on_end = {};
};

/// What an actor_gone of a supervisor's children, and its own, tells: it has given up. what() names the child and its last failure.
class restart_limit : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

class supervisor;

/// A supervisor that is a child of another. A handle: copies name the same one.
template <>
class actor_ref<supervisor> {
public:
    /// Starts a child: as spawn_actor(), but of copies of the arguments.
    ///
    /// \returns  a reference that survives restarts.
    /// \throws   actor_gone if the supervisor has ended or is ending; as spawn_actor().
    template <class A, class... Args>
        requires(!std::same_as<A, supervisor>)
    actor_ref<A> start(const child_attributes& a, Args&&... args) const {
        const actor_attributes how{
            .name = a.name, .mailbox = a.mailbox, .overflow = a.overflow, .stack_bytes = a.stack_bytes, .move = a.move};
        detail::actor_core_ref made(
            detail::make_actor(how, detail::make_program<A, detail::lives::again>(std::forward<Args>(args)...)));
        detail::add_child(*core_, a, made.core());
        return actor_ref<A>(std::move(made));
    }
    /// Starts a supervisor as a child, which ends with this one.
    template <std::same_as<supervisor> S>
    actor_ref<supervisor> start(const child_attributes& a, const supervisor_options& options = {}) const {
        return actor_ref<supervisor>(detail::make_supervisor(*core_, a, options));
    }

    /// Stops a child for good (rule 3) and removes it. Does not wait. \returns false if it is no child of this one
    bool stop(const actor_handle& child) const noexcept { return detail::stop_child(*core_, child.ref().core()); }
    /// The same for a supervisor that is a child, with all its children. Its own stop() leaves it to be restarted if it is permanent.
    bool stop(const actor_ref& child) const noexcept { return detail::stop_child(*core_, *child.core_); }
    /// Stops the children and ends. Does not wait; monitor() tells when it is done.
    void stop() const noexcept { detail::supervisor_stop(*core_); }

    /// Whether it has given up for good.
    [[nodiscard]] bool failed() const noexcept { return detail::supervisor_has_failed(*core_); }
    /// How many children it has: a snapshot.
    [[nodiscard]] std::size_t size() const noexcept { return detail::supervisor_size(*core_); }
    /// How many times it has restarted children since it was made.
    [[nodiscard]] std::size_t restarts() const noexcept { return detail::supervisor_restarts(*core_); }
    /// As actor_handle::monitor(): gets the reason when the supervisor has ended for good.
    [[nodiscard]] receiver<exit_reason> monitor() const { return detail::supervisor_monitor(*core_); }

    friend bool operator==(const actor_ref&, const actor_ref&) noexcept = default;

    /// For weft's own parts.
    explicit actor_ref(std::shared_ptr<detail::supervisor_core> core) noexcept : core_(std::move(core)) {}

protected:
    std::shared_ptr<detail::supervisor_core> core_;
};

/// A supervisor that nobody supervises. The destructor stops the children and waits for their end.
///
/// Its destructor is not run by a child of its own, which would wait for itself.
class supervisor : public actor_ref<supervisor> {
public:
    /// In the current runtime, or in `rt`. On a plain thread the program stops with a message: name a runtime.
    ///
    /// \throws  std::invalid_argument for a period that is not positive; what spawn() throws.
    explicit supervisor(const supervisor_options& options = {}) : actor_ref(detail::make_supervisor(options)) {
        detail::start_supervisor(*core_, "weft::supervisor");
    }
    supervisor(runtime& rt, const supervisor_options& options = {}) : actor_ref(detail::make_supervisor(options)) {
        detail::start_supervisor(*core_, rt);
    }
    supervisor(const supervisor&) = delete;
    supervisor& operator=(const supervisor&) = delete;
    /// \parks until all children have ended, never interrupted.
    ~supervisor() { detail::supervisor_join(*core_); }
};

}  // namespace weft

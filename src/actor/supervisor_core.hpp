// supervisor_core.hpp - a supervisor: a list of children, and a fiber that handles their ends.
//
//  state     meaning                                     leaves by
//  idle      not begun, or waits for its own supervisor  begin -> running | end -> ended
//  running   its fiber handles ends of children          run: stopped or over its limit -> stopping
//  stopping  its fiber ends the children                 run -> idle (has a supervisor) | ended
//  ended     final; it has no children                   -
//
//  a child is  meaning                                 leaves by
//  down        does not live; to be started, or waits  start_one, add -> running
//  running     lives                                   child_ended -> over
//  over        has ended, and that is not handled yet  deal_with, stop_one -> down, or removed
//
// Invariants
//   SUPERVISOR_CORE-1  Everything here is guarded by mutex_, which is released while a child is
//                      called: the child may take it.
//   SUPERVISOR_CORE-2  Children are removed by the supervisor's own fiber, or by end(); other
//                      callers only append.
//   SUPERVISOR_CORE-3  A child that is `running` calls child_ended() once, whether or not it could
//                      be started.
//   SUPERVISOR_CORE-4  A supervisor and its children refer to each other until end().
//   SUPERVISOR_CORE-5  What it is asked for only rises, from close over stop to kill, until it
//                      begins again. A close that became a stop ends as a stop.
//   SUPERVISOR_CORE-6  `life_` and `has_ended_` are read without mutex_, under the lock of
//                      relations.cpp, because a fiber must not park under that lock.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include <weft/condition_variable.hpp>
#include <weft/mutex.hpp>
#include <weft/supervisor.hpp>

#include "actor/actor_core.hpp"
#include "actor/linkable.hpp"
#include "base/atomic.hpp"

namespace weft::detail {

class child : public std::enable_shared_from_this<child> {
public:
    child(std::shared_ptr<supervisor_core> owner, const child_attributes&);
    child(const child&) = delete;
    child& operator=(const child&) = delete;
    virtual ~child() = default;

    // These are called without the supervisor's mutex.
    /// \throws  what making a fiber throws
    virtual void start(scheduler&) = 0;
    virtual void close() noexcept = 0;
    virtual void stop() noexcept = 0;
    virtual void kill() noexcept = 0;
    /// The child will not live again.
    virtual void end(exit_reason) noexcept = 0;
    /// Whether `core` is the core of this child's actor or supervisor.
    virtual bool is(const void* core) const noexcept = 0;

    enum class phase : std::uint8_t { down, running, over };

    const std::shared_ptr<supervisor_core> owner;
    const std::string name;
    const child_kind keep;
    const std::chrono::nanoseconds shutdown;
    // Guarded as in SUPERVISOR_CORE-1.
    phase now = phase::down;
    bool is_to_go = false;
    bool has_lived = false;
    // add() is starting it; it may be stopped only after that.
    bool is_starting = false;
    exit_reason last_end;  // valid while `over`
};

class supervisor_core final : public std::enable_shared_from_this<supervisor_core>, public linkable {
public:
    explicit supervisor_core(const supervisor_options&);

    void begin(scheduler&);
    void add(std::shared_ptr<child>);
    /// Asks a child to go for good. \returns false if it is not a child of this supervisor
    bool dismiss(const void* core) noexcept;
    // What it does to its children. SUPERVISOR_CORE-5
    enum class end_by : std::uint8_t { nothing, close, stop, kill };
    void ask_to(end_by) noexcept;
    void join() noexcept;
    void end(exit_reason) noexcept;
    void child_ended(child&, exit_reason) noexcept;
    void become_child(std::shared_ptr<child> c);  // called before it begins

    // As one end of a link.
    std::string_view name() const noexcept override { return name_; }
    std::shared_ptr<linkable> held() override { return shared_from_this(); }
    // pairs with end()
    bool has_ended() const noexcept override { return has_ended_.load(acquire); }
    [[noreturn]] void throw_gone() override;
    std::uint64_t life() noexcept override { return life_.load(relaxed); }  // SUPERVISOR_CORE-6
    void linked_end(std::uint64_t life, std::string_view other, const exit_reason& why) noexcept override;

    bool has_failed() const noexcept;
    std::size_t size() const noexcept;
    std::size_t restarts() const noexcept;
    receiver<exit_reason> monitor();

private:
    enum class state : std::uint8_t { idle, running, stopping, ended };
    using lock_type = std::unique_lock<mutex>;
    using child_ptr = std::shared_ptr<child>;

    // For its fiber.
    void run() noexcept;
    exit_reason supervise(lock_type&);
    child_ptr next_event() const noexcept;
    std::exception_ptr deal_with(const child_ptr&, lock_type&);
    void restart_after(const child_ptr&, lock_type&);
    void forget_temporary(std::size_t first, lock_type&);
    void start_one(const child_ptr&, lock_type&);
    bool start_when_there_is_room(child&);
    void start_from(std::size_t first, lock_type&);
    void stop_one(const child_ptr&, lock_type&);
    void stop_in_time(child&, lock_type&);
    void drain(child&, lock_type&);
    void report(const child&, bool restarts, lock_type&);
    void stop_from(std::size_t first, lock_type&);
    void remove(const child_ptr&, exit_reason, lock_type&) noexcept;
    template <class Change>
    void tell(Change) noexcept;
    bool is_over_limit();
    std::exception_ptr limit_failure(const child&) const;
    std::size_t index_of(const child&) const noexcept;

    const std::string name_;
    const restart strategy_;
    const unsigned max_restarts_;
    const std::chrono::nanoseconds within_;
    const std::function<void(const child_report&)> on_end_;
    child_ptr as_child_;  // null unless it is the child of another supervisor

    mutable mutex mutex_;
    mutable condition_variable changed_;
    scheduler* where_ = nullptr;
    state state_ = state::idle;
    end_by asked_ = end_by::nothing;
    std::exception_ptr link_failure_;  // an end of a link asks for the end, too
    // Stopped when there is either, for a wait that does not use changed_.
    std::stop_source stop_source_;
    bool has_given_up_ = false;
    atomic<std::uint64_t> life_{0};
    atomic<bool> has_ended_{false};
    exit_reason why_;
    std::vector<child_ptr> children_;  // in the order of their start
    std::deque<time_point> recent_restarts_;
    std::size_t restarts_ = 0;
    std::vector<channel_ref> monitors_;
};

}  // namespace weft::detail

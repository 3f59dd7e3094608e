// wait.hpp - one wait of the calling fiber or thread, from the decision to wait to the reason it ended.
//
// See fiber/waiter.hpp for the pattern. The waiter may be linked only after the `wait` exists; the object's lock is held from
// the decision to wait until the waiters are linked, and released before park().
#pragma once

#include "fiber/interrupts.hpp"
#include "fiber/waiter.hpp"

namespace weft::detail {

struct control_block;

enum class wake : std::uint8_t { notified, timed_out, stopped };

struct wait_options {
    park_reason reason;
    const void* object = nullptr;
    time_point deadline = never;                        // of this operation; with_deadline() frames count besides
    interruptible may_stop = interruptible::yes;        // shields and unwinding are taken into account besides
};

class wait {
public:
    explicit wait(const wait_options& options) noexcept : wait(this_cell(), options) {}
    /// The same for who has asked for this_cell() already, in the same operation.
    wait(wait_cell& of_caller, const wait_options&) noexcept;
    wait(const wait&) = delete;
    wait& operator=(const wait&) = delete;
    ~wait();

    wait_cell& cell() noexcept { return cell_; }
    wait_ticket ticket() const noexcept { return ticket_; }

    /// Parks until a waiter of this wait was unparked, the deadline has passed, or a stop came. Exactly once, unless
    /// abandon() returned true. Never call it with a lock held.
    ///
    /// \parks    always, unless the wake-up is already there. May return on another carrier.
    /// \returns  `notified`: index() names the waiter, which is unlinked. Otherwise the caller unlinks its waiters.
    wake park() noexcept;

    /// The index of the waiter that was notified.
    wait_outcome index() const noexcept { return cell_.outcome; }

    /// Instead of park(): ends the wait if nobody has claimed it. False: somebody has; park() is then short and must follow.
    bool abandon() noexcept;

private:
    wake park_fiber() noexcept;
    void park_with_timer(control_block& self) noexcept;
    wake park_thread() noexcept;

    wait_cell& cell_;
    wait_options options_;
    interruption interrupts_;
    wait_ticket ticket_;
    bool over_ = false;
};

}  // namespace weft::detail

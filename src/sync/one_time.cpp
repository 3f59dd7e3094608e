#include <weft/detail/one_time.hpp>

#include <cstddef>

#include "base/exiting.hpp"
#include "base/panic.hpp"
#include "fiber/switch_point.hpp"
#include "sync/waiting_room.hpp"

namespace weft::detail {
namespace {

// states of the room's lock: STATE_LOCK-2 gives us ONE_TIME-2
constexpr state_lock::state_type open = 0, running = 1, done = 2;

struct one_time_state {
    waiting_room room;
    const wait_cell* runner WEFT_GUARDED_BY(room.lock) = nullptr;  // while running
};

// The state is all there is of a one_time, so that they have one address.
std::size_t runner_of(const void* once, std::span<const wait_cell*> into) noexcept {
    auto& s = static_cast<opaque<sizeof(one_time)>*>(const_cast<void*>(once))->as<one_time_state>();
    s.room.lock.lock();
    const wait_cell* const runner = s.runner;
    s.room.lock.unlock();
    return only_holder(runner, into);
}

constexpr wait_kind once_wait{
    .name = "call_once", .holders = runner_of, .held_at = {holder_place::form::pointer, offsetof(one_time_state, runner)}};
constexpr wait_kind ivar_wait{.name = "ivar"};

}  // namespace

one_time::~one_time() {
    auto& s = state_.as<one_time_state>();
    require_at_end(s.room.waiters.empty(), what_ == what::ivar ? "ivar: destroyed while somebody waits for it"
                                                               : "once_flag: destroyed while somebody calls");
}

bool one_time::is_done() const noexcept { return state_.as<one_time_state>().room.lock.rests_in(done); }

bool one_time::begin() noexcept {
    switch_point();
    auto& s = state_.as<one_time_state>();
    s.room.lock.lock();
    const bool mine = s.room.lock.state() == open;
    if (!mine) {
        s.room.lock.unlock();
        return false;
    }
    s.runner = &this_cell();
    s.room.lock.unlock_in(running);
    return true;
}

void one_time::finish() noexcept {
    auto& s = state_.as<one_time_state>();
    s.room.lock.lock();
    s.runner = nullptr;
    s.room.wake_all_in(done);  // ONE_TIME-2: this is the last access
}

void one_time::give_up() noexcept {
    auto& s = state_.as<one_time_state>();
    s.room.lock.lock();
    s.runner = nullptr;
    // A caller that waits for an ivar's value keeps waiting. Of the callers that wait for their
    // turn, one looks again.
    waiter* const next = what_ == what::once ? s.room.waiters.claim_front() : nullptr;
    s.room.lock.unlock_in(open);
    if (next) next->unpark();
}

bool one_time::await_turn() noexcept {
    auto& s = state_.as<one_time_state>();
    for (;;) {
        if (is_done()) return false;
        if (begin()) return true;
        s.room.lock.lock();
        if (s.room.lock.state() != running) {
            s.room.lock.unlock();
            continue;
        }
        require(s.runner != &this_cell(), "call_once: called again by its own function, with the same flag");
        s.room.wait_locked({.kind = once_wait, .object = this, .may_stop = interruptible::no});
    }
}

bool one_time::await_done(time_point until, const std::stop_token* token) const {
    check_interrupt();
    if (is_done()) return true;
    auto& s = state_.as<one_time_state>();
    s.room.lock.lock();
    if (s.room.lock.state() != done)
        return s.room.wait_locked({.kind = ivar_wait, .object = this, .deadline = until}, token);
    s.room.lock.unlock();
    return true;
}

}  // namespace weft::detail

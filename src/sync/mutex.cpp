#include <weft/mutex.hpp>

#include <cstddef>

#include "base/exiting.hpp"
#include "base/panic.hpp"
#include "base/spin_lock.hpp"
#include "fiber/switch_point.hpp"
#include "sched/wait.hpp"
#include "sync/holders.hpp"
#include "sync/whose.hpp"

namespace weft {
namespace {

using namespace detail;

struct mutex_state {  // zeros: free, nobody waits
    spin_lock lock;
    bool waking = false;          // a woken waiter is on its way (M2)
    wait_cell* owner = nullptr;
    wait_list waiters;
};

struct mutex_waiter : waiter {
    mutex_waiter(wait& w, bool was_overtaken) noexcept : waiter(w.cell(), w.ticket()), overtaken(was_overtaken) {}

    const bool overtaken;
    bool handed_over = false;     // the claimer's: the mutex is already yours (M3)
};

/// Whether unlock() has to wake somebody: not while another woken waiter is on its way, unless the oldest is owed the mutex.
bool someone_is_due(mutex_state& s) noexcept {
    const waiter* const oldest = s.waiters.front();
    return oldest && (!s.waking || static_cast<const mutex_waiter*>(oldest)->overtaken);
}

}  // namespace

mutex::~mutex() {
    auto& s = state_.as<mutex_state>();
    if (s.owner || !s.waiters.empty()) [[unlikely]]
        require_at_end(false, "mutex: destroyed while locked", whose(s.owner));
}

void mutex::lock() noexcept {
    if (!try_lock()) lock_until(never);
}

bool mutex::try_lock() noexcept {
    switch_point();
    auto& s = state_.as<mutex_state>();
    s.lock.lock();
    const bool is_free = s.owner == nullptr;
    if (is_free) s.owner = &caller_cell();
    s.lock.unlock();
    return is_free;
}

bool mutex::lock_until(time_point until) noexcept {
    auto& s = state_.as<mutex_state>();
    auto* const self = &caller_cell();
    for (bool woken = false;; woken = true) {
        s.lock.lock();
        if (woken) s.waking = false;
        if (s.owner == nullptr) {
            s.owner = self;
            s.lock.unlock();
            return true;
        }
        require(s.owner != self, "mutex: locked again by its owner (M1)");
        wait w({.reason = park_reason::mutex, .object = this, .deadline = until, .may_stop = interruptible::no});
        mutex_waiter me(w, woken);
        if (woken)
            s.waiters.push_front(me);
        else
            s.waiters.push_back(me);
        s.lock.unlock();
        if (w.park() != wake::notified) {  // out of time
            s.lock.lock();
            s.waiters.remove(me);
            s.lock.unlock();
            return false;
        }
        if (me.handed_over) return true;
    }
}

void mutex::unlock() noexcept {
    switch_point();
    auto& s = state_.as<mutex_state>();
    s.lock.lock();
    if (s.owner != &caller_cell()) [[unlikely]]
        panic("mutex: unlocked by another than its owner (M1)", whose(s.owner));
    s.owner = nullptr;
    auto* const next = someone_is_due(s) ? static_cast<mutex_waiter*>(s.waiters.claim_front()) : nullptr;
    if (next && next->overtaken) {
        next->handed_over = true;
        s.owner = &next->cell();
    } else if (next) {
        s.waking = true;
    }
    s.lock.unlock();  // M4: the last access
    if (next) next->unpark();
}

bool mutex::is_callers() noexcept {
    auto& s = state_.as<mutex_state>();
    s.lock.lock();
    const bool mine = s.owner == &caller_cell();
    s.lock.unlock();
    return mine;
}

bool recursive_mutex::enter_again() noexcept {
    if (!inner_.is_callers()) return false;
    ++depth_;
    return true;
}

void recursive_mutex::unlock() noexcept {
    if (!inner_.is_callers() || --depth_ == 0) inner_.unlock();  // who is not the owner is refused there
}

// The lock's state is all there is of it, so that they have one address.
const wait_cell* detail::holder_of_mutex(const void* lock) noexcept {
    auto& s = static_cast<opaque<sizeof(weft::mutex)>*>(const_cast<void*>(lock))->as<mutex_state>();
    s.lock.lock();
    const wait_cell* const holder = s.owner;
    s.lock.unlock();
    return holder;
}

std::size_t detail::offset_of_mutex_holder() noexcept { return offsetof(mutex_state, owner); }

}  // namespace weft

// semaphore.cpp - permits that lie in the semaphore, or go from hand to hand.
//
// Invariants
//   K1  Who can be claimed waits only while no permit lies in the semaphore.
//   K2  A claimed waiter has its permit.
#include <weft/semaphore.hpp>

#include "base/exiting.hpp"
#include "base/panic.hpp"
#include "sync/waiting_room.hpp"

namespace weft::detail {
namespace {

struct semaphore_state {
    waiting_room room;
    std::ptrdiff_t permits = 0;  // under the room's lock
    std::ptrdiff_t most = 0;
};

}  // namespace

semaphore_core::semaphore_core(std::ptrdiff_t permits, std::ptrdiff_t most) noexcept {
    require(permits >= 0 && permits <= most, "semaphore: begins with 0 to max() permits");
    auto& s = state_.emplace<semaphore_state>();
    s.permits = permits;
    s.most = most;
}

semaphore_core::~semaphore_core() {
    auto& s = state_.as<semaphore_state>();
    require_at_end(s.room.waiters.empty(), "semaphore: destroyed while somebody waits");
    s.~semaphore_state();
}

void semaphore_core::release(std::ptrdiff_t n) noexcept {
    require(n >= 0, "semaphore: a negative number of permits is released");
    auto& s = state_.as<semaphore_state>();
    wait_list served;
    s.room.lock.lock();
    for (; n > 0; --n) {
        waiter* const oldest = s.room.waiters.claim_front();  // K1
        if (!oldest) break;
        served.push_back(*oldest);
    }
    require(n <= s.most - s.permits, "semaphore: more than max() permits");
    s.permits += n;
    s.room.lock.unlock();
    while (waiter* const w = served.pop_front()) w->unpark();
}

bool semaphore_core::try_acquire() noexcept {
    auto& s = state_.as<semaphore_state>();
    s.room.lock.lock();
    const bool taken = s.permits > 0;
    if (taken) --s.permits;
    s.room.lock.unlock();
    return taken;
}

bool semaphore_core::acquire(time_point until, const std::stop_token* token) {
    check_interrupt();
    auto& s = state_.as<semaphore_state>();
    s.room.lock.lock();
    if (s.permits == 0) return s.room.wait_locked({.reason = park_reason::semaphore, .object = this, .deadline = until}, token);
    --s.permits;
    s.room.lock.unlock();
    return true;
}

}  // namespace weft::detail

// semaphore.cpp - permits that lie in the semaphore, or pass directly to a waiter.
//
// Invariants
//   SEMAPHORE-1  A waiter that can be claimed waits only while no permit lies in the semaphore.
//   SEMAPHORE-2  A claimed waiter has its permit.
#include <weft/semaphore.hpp>

#include "base/exiting.hpp"
#include "base/panic.hpp"
#include "fiber/switch_point.hpp"
#include "sync/waiting_room.hpp"

namespace weft::detail {

constexpr wait_kind semaphore_wait{.name = "semaphore"};

void semaphore_core::begins_out_of_range() noexcept { panic("semaphore: begins with 0 to max() permits"); }

semaphore_core::~semaphore_core() { require_at_end(room().waiters.empty(), "semaphore: destroyed while somebody waits"); }

waiting_room& semaphore_core::room() noexcept { return room_.as<waiting_room>(); }

void semaphore_core::release(std::ptrdiff_t n) noexcept {
    switch_point();
    require(n >= 0, "semaphore: a negative number of permits is released");
    auto& r = room();
    wait_list served;
    r.lock.lock();
    for (; n > 0; --n) {
        waiter* const oldest = r.waiters.claim_front();  // SEMAPHORE-1
        if (!oldest) break;
        served.push_back(*oldest);
    }
    require(n <= most_ - permits_, "semaphore: more than max() permits");
    permits_ += n;
    r.lock.unlock();
    while (waiter* const w = served.pop_front()) w->unpark();
}

bool semaphore_core::try_acquire() noexcept {
    switch_point();
    auto& r = room();
    r.lock.lock();
    const bool taken = permits_ > 0;
    if (taken) --permits_;
    r.lock.unlock();
    return taken;
}

bool semaphore_core::acquire(time_point until, const std::stop_token* token) {
    check_interrupt();
    auto& r = room();
    r.lock.lock();
    if (permits_ == 0) return r.wait_locked({.kind = semaphore_wait, .object = this, .deadline = until}, token);
    --permits_;
    r.lock.unlock();
    return true;
}

}  // namespace weft::detail

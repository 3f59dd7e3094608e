#include "sync/address_wait.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>

#include "base/direct.hpp"
#include "base/fork.hpp"
#include "base/hook_time.hpp"
#include "sched/identity/lock_owners.hpp"
#include "sched/inspect/leaving.hpp"
#include "sched/simulate/simulator.hpp"
#include "sync/parking_lot.hpp"

namespace weft::detail {

constinit atomic<std::uint32_t> parked_for_locks{0}, parked_for_conditions{0};

namespace {

using namespace std::chrono_literals;

/// The fiber that has the lock; none if a plain thread has it, or several have.
std::size_t owner_of(const void* object, std::span<const wait_cell*> into) noexcept {
    const auto& call = *static_cast<const hook_call*>(object);
    return only_holder(call.owner ? lock_owner(static_cast<std::uint32_t>(*call.owner)) : nullptr, into);
}

constexpr wait_kind hooked_lock_wait{.name = "pthread lock", .holders = owner_of, .shows_call = true};
constexpr wait_kind hooked_condition_wait{.name = "pthread condition", .shows_call = true};

// chosen: more buckets than CPUs, so that two seldom meet at one
constexpr std::size_t bucket_count = 256;

// They may be used before the constructors of other files have run.
constinit std::array<parking_bucket, bucket_count> lock_buckets, condition_buckets;
constinit parking_lot locks{lock_buckets, parked_for_locks};
constinit parking_lot conditions{condition_buckets, parked_for_conditions};

[[gnu::constructor(before_static_objects)]] void address_waits_follow_forks() noexcept {
    follow_forks({.in_child = [] {
        locks.forget_all();
        conditions.forget_all();
    }});
}

duration look_after(duration d) noexcept { return simulator_here() ? parking::no_look : d; }  // PARKING_LOT-5

// Where a fiber may not leave its thread the thread waits in its place, and looks now and then.

int block_for_lock(int (*attempt)(void*), void* what, time_point until) noexcept {
    for (duration pause = 50us;; pause = std::min<duration>(2 * pause, 1ms)) {
        if (const int r = attempt(what); r != EBUSY) return r;
        if (clock::now() >= until) return ETIMEDOUT;
        direct::sleep_for(pause);
    }
}

int block_for_condition(void (*give_up)(void*), void* what, time_point until) noexcept {
    give_up(what);
    direct::sleep_for(1ms);
    return clock::now() >= until ? ETIMEDOUT : 0;
}

}  // namespace

int lock_wait(int (*attempt)(void*), void* what, std::int64_t until, const hook_call& call) noexcept {
    if (!may_leave_thread()) return block_for_lock(attempt, what, time_of_hook(until));
    return locks.wait_for_lock({hooked_lock_wait, &call, call.object, time_of_hook(until), look_after(1ms)}, attempt, what);
}

bool lock_wake(const void* lock) noexcept { return locks.wake_oldest(lock); }

// Between visits a wake-up begins and ends a visit of its own, and on a plain thread it goes by a queue
// without locks: either may be done in the midst of other code. PARKING_LOT-5 has what is left.
void semaphore_wake(const void* semaphore) noexcept {
    auto* const c = this_carrier();
    if (!c || !c->is_inside()) locks.try_to_wake_oldest(semaphore);
}

int condition_wait(void (*give_up)(void*), void* what, std::int64_t until, const hook_call& call) noexcept {
    if (!may_leave_thread()) return block_for_condition(give_up, what, time_of_hook(until));
    return conditions.wait_for_condition({hooked_condition_wait, &call, call.object, time_of_hook(until), look_after(100ms)},
                                         give_up, what);
}

void condition_wake(const void* condition, bool all) noexcept {
    if (all)
        conditions.wake_all(condition);
    else
        static_cast<void>(conditions.wake_oldest(condition));
}

}  // namespace weft::detail

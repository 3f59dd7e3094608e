// mutex.cpp - mutex and recursive_mutex: one word while there are no waiters, a list otherwise.
#include <weft/mutex.hpp>

#include <cstddef>
#include <cstdint>

#include "base/atomic.hpp"
#include "base/exiting.hpp"
#include "base/panic.hpp"
#include "base/spin_lock.hpp"
#include "fiber/switch_point.hpp"
#include "sched/wait/park_listed.hpp"
#include "sched/wait/wait.hpp"
#include "sync/whose.hpp"

namespace weft {
namespace {

using namespace detail;

// The word is the address of the owner's cell. Its bit 0 (crowded) says that the owner has to look
// at the waiters when it unlocks. While no waiter exists, this word is all that is used.
//
//  state of the word    left by, and to what
//  0                    any thread: to itself; under `lock` also to itself, crowded
//  an owner             the owner: to 0
//                       a thread that queues, under `lock`: to the owner, crowded
//  an owner, crowded    the owner, under `lock`: to 0 if it wakes a waiter; to the waiter to which
//                       it hands the mutex; to itself, not crowded, if no waiter is due
//
//   MUTEX-5  When `lock` is given back while a waiter exists, the word is crowded, or a woken
//            waiter is on its way that will find the word free or make it crowded.
constexpr std::uintptr_t crowded = 1;

struct mutex_state {  // all zeros: free, no waiters
    atomic<std::uintptr_t> word;
    spin_lock lock;
    bool waking WEFT_GUARDED_BY(lock) = false;  // a woken waiter is on its way (MUTEX-2)
    wait_list waiters WEFT_GUARDED_BY(lock);
};

struct mutex_waiter : waiter {
    mutex_waiter(wait& w, bool was_overtaken) noexcept : waiter(w.cell(), w.ticket()), overtaken(was_overtaken) {}

    const bool overtaken;
    bool handed_over = false;  // set by the claimer: the mutex is already yours (MUTEX-3)
};

std::uintptr_t owned_by(const wait_cell& c) noexcept { return reinterpret_cast<std::uintptr_t>(&c); }

const wait_cell* owner_in(std::uintptr_t word) noexcept { return reinterpret_cast<const wait_cell*>(word & ~crowded); }

// The lock's state is all there is of a mutex, so that they have one address.
std::size_t owner_of(const void* mutex, std::span<const wait_cell*> into) noexcept {
    auto& s = static_cast<opaque<sizeof(weft::mutex)>*>(const_cast<void*>(mutex))->as<mutex_state>();
    return only_holder(owner_in(s.word.load(relaxed)), into);
}

constexpr wait_kind mutex_wait{
    .name = "mutex", .holders = owner_of, .held_at = {holder_place::form::pointer, offsetof(mutex_state, word)}};

std::uintptr_t crowded_if_waited_for(const mutex_state& s) noexcept WEFT_REQUIRES(s.lock) {
    return s.waiters.empty() ? 0 : crowded;
}

bool take_free(mutex_state& s, const wait_cell& self) noexcept {
    std::uintptr_t seen = 0;
    // pairs with give_free() and unlock_crowded()
    return s.word.compare_exchange_strong(seen, owned_by(self), acquire, relaxed);
}

bool give_free(mutex_state& s, const wait_cell& self) noexcept {
    std::uintptr_t seen = owned_by(self);
    // pairs with take_free() and take_or_crowd(); MUTEX-4
    return s.word.compare_exchange_strong(seen, 0, release, relaxed);
}

/// \returns whether the mutex is the caller's now. If not, its owner will look at the waiters
/// (MUTEX-5).
bool take_or_crowd(mutex_state& s, const wait_cell& self) noexcept WEFT_REQUIRES(s.lock) {
    for (auto seen = s.word.load(relaxed);;) {
        require(owner_in(seen) != &self, "mutex: locked again by its owner (MUTEX-1)");
        if (seen == 0) {
            // pairs with give_free() and unlock_crowded()
            if (s.word.compare_exchange_weak(seen, owned_by(self) | crowded_if_waited_for(s), acquire, relaxed)) return true;
        } else if ((seen & crowded) != 0 || s.word.compare_exchange_weak(seen, seen | crowded, relaxed, relaxed)) {
            return false;
        }
    }
}

/// Whether unlock() has to wake a waiter. It need not while another woken waiter is on its way,
/// unless the oldest waiter is owed the mutex.
bool someone_is_due(mutex_state& s) noexcept WEFT_REQUIRES(s.lock) {
    const waiter* const oldest = s.waiters.front();
    return oldest && (!s.waking || static_cast<const mutex_waiter*>(oldest)->overtaken);
}

[[gnu::noinline]] void unlock_crowded(mutex_state& s, const wait_cell& self) noexcept {
    do {
        s.lock.lock();
        auto* const next = someone_is_due(s) ? static_cast<mutex_waiter*>(s.waiters.claim_front()) : nullptr;
        if (next && next->overtaken) {
            next->handed_over = true;
            // relaxed: the new owner learns of it by its wake-up
            s.word.store(owned_by(next->cell()) | crowded_if_waited_for(s), relaxed);
            s.lock.unlock();
            return next->unpark();
        }
        if (next) {
            s.waking = true;
            s.word.store(0, release);  // pairs with take_free() and take_or_crowd()
            // MUTEX-4: `next` has yet to pass here, so the mutex still exists
            s.lock.unlock();
            return next->unpark();
        }
        s.word.store(owned_by(self), relaxed);
        s.lock.unlock();
    } while (!give_free(s, self));  // MUTEX-5: a waiter has come, or come back, meanwhile
}

}  // namespace

mutex::~mutex() {
    auto& s = state_.as<mutex_state>();
    if (const auto* const owner = owner_in(s.word.load(relaxed)); owner || !s.waiters.empty()) [[unlikely]]
        require_at_end(false, "mutex: destroyed while locked", whose(owner));
}

void mutex::lock() noexcept {
    if (!try_lock()) lock_until(never);
}

bool mutex::try_lock() noexcept {
    switch_point();
    return take_free(state_.as<mutex_state>(), caller_cell());
}

bool mutex::lock_until(time_point until) noexcept {
    auto& s = state_.as<mutex_state>();
    auto& self = caller_cell();
    for (bool woken = false;; woken = true) {
        s.lock.lock();
        if (woken) s.waking = false;
        if (take_or_crowd(s, self)) {
            s.lock.unlock();
            return true;
        }
        wait w({.kind = mutex_wait, .object = this, .deadline = until, .may_stop = interruptible::no});
        mutex_waiter me(w, woken);
        if (woken)
            s.waiters.push_front(me);
        else
            s.waiters.push_back(me);
        if (park_listed(w, me, s.lock, s.waiters) != wait_end::notified) return false;  // the time has passed
        if (me.handed_over) return true;
    }
}

void mutex::unlock() noexcept {
    switch_point();
    auto& s = state_.as<mutex_state>();
    const auto& self = caller_cell();
    if (give_free(s, self)) [[likely]]
        return;
    if (const auto* const owner = owner_in(s.word.load(relaxed)); owner != &self)
        panic("mutex: unlocked by another than its owner (MUTEX-1)", whose(owner));
    unlock_crowded(s, self);
}

bool mutex::owned_by_caller() noexcept { return owner_in(state_.as<mutex_state>().word.load(relaxed)) == &caller_cell(); }

bool recursive_mutex::enter_again() noexcept {
    if (!inner_.owned_by_caller()) return false;
    ++depth_;
    return true;
}

// Not analysed: whether this gives the mutex up depends on how often it was locked.
void recursive_mutex::unlock() noexcept WEFT_NO_THREAD_SAFETY_ANALYSIS {
    // a caller that is not the owner is refused there
    if (!inner_.owned_by_caller() || --depth_ == 0) inner_.unlock();
}

}  // namespace weft

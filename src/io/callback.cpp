// callback.cpp - the phases of callback.hpp, with the lock and the list of the waiter.
#include <weft/detail/callback.hpp>

#include <weft/blocking.hpp>
#include <weft/detail/annotated_locks.hpp>

#include "base/atomic.hpp"
#include "base/spin_lock.hpp"
#include "sched/wait/wait_on.hpp"

namespace weft {
namespace detail {
namespace {

constexpr wait_kind callback_wait{.name = "callback", .ends = ended_by::outside};

enum class phase : std::uint8_t { open, claimed, done, abandoned };

struct core {
    atomic<phase> now{phase::open};
    // `done`, for a waiter that is about to park
    bool published WEFT_GUARDED_BY(lock) = false;
    spin_lock lock;
    wait_list waiters WEFT_GUARDED_BY(lock);
};

atomic<std::uint64_t> ignored{0};

bool leave_open(core& c, phase to) noexcept {
    auto expected = phase::open;
    // The result is ordered by the lock of publish() and wait(); this exchange only decides
    // (CALLBACK-1).
    return c.now.compare_exchange_strong(expected, to, relaxed, relaxed);
}

}  // namespace

void enter_callback_wait() { check_interrupt(); }

callback_core::callback_core() noexcept { state_.emplace<core>(); }

bool callback_core::claim() noexcept { return leave_open(state_.as<core>(), phase::claimed); }

bool callback_core::abandon() noexcept { return leave_open(state_.as<core>(), phase::abandoned); }

void callback_core::count_ignored() noexcept { ignored.fetch_add(1, relaxed); }  // a statistic

void callback_core::publish() noexcept {
    auto& c = state_.as<core>();
    waiter* w = nullptr;
    {
        const lock_guard guard(c.lock);
        c.published = true;
        w = c.waiters.claim_front();
    }
    if (w) w->unpark();
}

bool callback_core::wait() noexcept {
    auto& c = state_.as<core>();
    auto may_stop = interruptible::yes;
    for (;;) {
        c.lock.lock();
        if (c.published) {
            c.lock.unlock();
            return true;
        }
        const wait_end how = wait_on(c.lock, c.waiters, {.kind = callback_wait, .object = this, .may_stop = may_stop});
        if (how == wait_end::notified) continue;
        if (abandon()) return false;
        may_stop = interruptible::no;  // CALLBACK-3
    }
}

}  // namespace detail

// relaxed: a statistic
std::uint64_t ignored_resumes() noexcept { return detail::ignored.load(detail::relaxed); }

}  // namespace weft

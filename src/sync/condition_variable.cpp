#include <weft/condition_variable.hpp>

#include <weft/stop.hpp>

#include "base/exiting.hpp"
#include "base/panic.hpp"
#include "base/spin_lock.hpp"
#include "fiber/switch_point.hpp"
#include "fiber/wake_all.hpp"
#include "sched/wait/wait_on.hpp"

namespace weft {
namespace {

using namespace detail;

constexpr wait_kind condition_variable_wait{.name = "condition variable"};

struct condition_state {  // all zeros: no waiters
    spin_lock lock;
    wait_list waiters WEFT_GUARDED_BY(lock);
};

}  // namespace

condition_variable::~condition_variable() {
    auto& s = state_.as<condition_state>();
    require_at_end(s.waiters.empty(), "condition_variable: destroyed while somebody waits (CONDITION_VARIABLE-3)");
}

void condition_variable::notify_one() noexcept {
    switch_point();
    auto& s = state_.as<condition_state>();
    s.lock.lock();
    waiter* const oldest = s.waiters.claim_front();
    s.lock.unlock();
    if (oldest) oldest->unpark();
}

void condition_variable::notify_all() noexcept {
    switch_point();
    auto& s = state_.as<condition_state>();
    wait_list claimed;
    s.lock.lock();
    claim_all(s.waiters, claimed);
    s.lock.unlock();
    unpark_all(claimed);
}

bool condition_variable::wait_until_woken(lock_type& lock, time_point until, const std::stop_token* token) {
    require(lock.owns_lock(), "condition_variable: waits with the mutex locked");
    check_interrupt();
    auto& s = state_.as<condition_state>();
    s.lock.lock();
    const auto how = wait_on(s.lock, s.waiters, {.kind = condition_variable_wait, .object = this, .deadline = until}, token,
                             [&] { lock.unlock(); });
    // CONDITION_VARIABLE-2: from here on a notification finds another waiter (PARK_LISTED-3).
    // CONDITION_VARIABLE-3: after a notification s may be gone (PARK_LISTED-2).
    lock.lock();  // CONDITION_VARIABLE-1
    if (how == wait_end::stopped) throw cancelled{};
    return how != wait_end::timed_out;
}

}  // namespace weft

#include <weft/condition_variable.hpp>

#include <weft/stop.hpp>

#include <optional>

#include "base/exiting.hpp"
#include "base/panic.hpp"
#include "base/spin_lock.hpp"
#include "fiber/switch_point.hpp"
#include "fiber/wake_all.hpp"
#include "sched/stop_waiter.hpp"
#include "sched/wait.hpp"

namespace weft {
namespace {

using namespace detail;

constexpr wait_kind condition_variable_wait{.name = "condition variable"};

struct condition_state {  // all zeros: no waiters
    spin_lock lock;
    wait_list waiters;
};

constexpr wait_outcome notified_by_name = 0, stopped_by_token = 1;

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
    detail::wait w({.kind = condition_variable_wait, .object = this, .deadline = until});
    waiter me(w.cell(), w.ticket(), notified_by_name);
    s.waiters.push_back(me);
    s.lock.unlock();
    std::optional<stop_waiter> stop;
    if (token && token->stop_possible()) stop.emplace(w, stopped_by_token, *token);
    lock.mutex()->unlock();

    const auto why = w.park();
    stop.reset();
    const bool was_notified = why == wake::notified && w.index() == notified_by_name;
    // CONDITION_VARIABLE-2: from here on a notification finds another waiter. CONDITION_VARIABLE-3:
    // after a notification s may be gone, so it is not touched.
    if (!was_notified) {
        s.lock.lock();
        s.waiters.remove(me);
        s.lock.unlock();
    }
    lock.mutex()->lock();  // CONDITION_VARIABLE-1
    if (why == wake::stopped) throw cancelled{};
    return why != wake::timed_out;
}

}  // namespace weft

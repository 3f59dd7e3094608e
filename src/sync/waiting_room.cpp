#include "sync/waiting_room.hpp"

#include <weft/stop.hpp>

#include <mutex>
#include <optional>

#include "fiber/wake_all.hpp"
#include "sched/stop_waiter.hpp"

namespace weft::detail {

bool wait_in(state_lock& lock, wait_list& list, const wait_options& options, const std::stop_token* token) {
    constexpr wait_outcome woken = 0, stopped_by_token = 1;
    wait w(options);
    waiter me(w.cell(), w.ticket(), woken);
    list.push_back(me);
    lock.unlock();
    std::optional<stop_waiter> stop;
    if (token && token->stop_possible()) stop.emplace(w, stopped_by_token, *token);

    const auto why = w.park();
    stop.reset();
    if (why == wake::notified && w.index() == woken) return true;  // WAITING_ROOM-2
    {
        const std::lock_guard guard(lock);
        list.remove(me);
    }
    if (why == wake::stopped) throw cancelled{};
    return false;
}

void waiting_room::unlock_and_wake_one() noexcept {
    waiter* const oldest = waiters.claim_front();
    lock.unlock();
    if (oldest) oldest->unpark();
}

void waiting_room::wake_all_in(state_lock::state_type s) noexcept {
    wait_list claimed;
    claim_all(waiters, claimed);
    lock.unlock_in(s);
    unpark_all(claimed);
}

}  // namespace weft::detail

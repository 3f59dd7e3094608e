#include "sync/waiting_room.hpp"

#include <weft/stop.hpp>

#include "fiber/wake_all.hpp"
#include "sched/wait/wait_on.hpp"

namespace weft::detail {

bool wait_in(state_lock& lock, wait_list& list, const wait_options& options, const std::stop_token* token) {
    const auto how = wait_on(lock, list, options, token);  // WAITING_ROOM-2
    if (how == wait_end::stopped) throw cancelled{};
    return how == wait_end::notified;
}

void waiting_room::wake_all_in(state_lock::state_type s) noexcept {
    wait_list claimed;
    claim_all(waiters, claimed);
    lock.unlock_in(s);
    unpark_all(claimed);
}

}  // namespace weft::detail

#include <weft/wait_group.hpp>

#include <weft/stop.hpp>

#include "base/panic.hpp"
#include "base/spin_lock.hpp"
#include "sched/wait.hpp"
#include "sync/wake_all.hpp"

namespace weft {
namespace {

using namespace detail;

struct wait_group_state {
    spin_lock lock;
    std::ptrdiff_t count = 0;
    wait_list waiters;
};

}  // namespace

wait_group::wait_group(std::ptrdiff_t count) noexcept {
    require(count >= 0, "wait_group: negative count (G1)");
    state_.emplace<wait_group_state>().count = count;
}

wait_group::~wait_group() {
    auto& s = state_.as<wait_group_state>();
    require(s.waiters.empty(), "wait_group: destroyed while somebody waits");
    s.~wait_group_state();
}

void wait_group::add(std::ptrdiff_t n) noexcept {
    auto& s = state_.as<wait_group_state>();
    wait_list claimed;
    s.lock.lock();
    s.count += n;
    require(s.count >= 0, "wait_group: more done() than add() (G1)");
    if (s.count == 0) claim_all(s.waiters, claimed);  // G2
    s.lock.unlock();                                  // G3: the last access
    unpark_all(claimed);
}

bool wait_group::wait_until_zero(time_point until) {
    check_interrupt();
    auto& s = state_.as<wait_group_state>();
    s.lock.lock();
    if (s.count == 0) {
        s.lock.unlock();
        return true;
    }
    detail::wait w({.reason = park_reason::wait_group, .object = this, .deadline = until});
    waiter me(w.cell(), w.ticket());
    s.waiters.push_back(me);
    s.lock.unlock();

    const auto why = w.park();
    if (why == wake::notified) return true;
    s.lock.lock();
    s.waiters.remove(me);
    s.lock.unlock();
    if (why == wake::stopped) throw cancelled{};
    return false;
}

}  // namespace weft

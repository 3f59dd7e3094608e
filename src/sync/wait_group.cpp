#include <weft/wait_group.hpp>

#include "base/exiting.hpp"
#include "sync/countdown.hpp"

namespace weft {

using detail::countdown;
using detail::require;

wait_group::wait_group(std::ptrdiff_t count) noexcept {
    require(count >= 0, "wait_group: negative count (G1)");
    state_.emplace<countdown>().count = count;
}

wait_group::~wait_group() {
    auto& s = state_.as<countdown>();
    detail::require_at_end(s.room.waiters.empty(), "wait_group: destroyed while somebody waits");
    s.~countdown();
}

void wait_group::add(std::ptrdiff_t n) noexcept { state_.as<countdown>().add(n, "wait_group: more done() than add() (G1)"); }

bool wait_group::wait_until_over(detail::time_point until, const std::stop_token* token) const {
    return state_.as<countdown>().wait(detail::park_reason::wait_group, this, until, token);
}

}  // namespace weft

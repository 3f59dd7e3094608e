#include "sync/admission.hpp"

#include <cerrno>
#include <string>
#include <system_error>

#include "sched/scheduler.hpp"
#include "sched/wait.hpp"

namespace weft::detail {
namespace {

// Looks at stops only when it has to wait: where there is room, a stopped fiber may start others, as without a limit.
void wait_for_place(fiber_limit& limit) {
    limit.lock().lock();
    if (limit.take_or_close()) {
        limit.lock().unlock();
        return;
    }
    wait w({.reason = park_reason::fiber_limit, .object = &limit});
    waiter me(w.cell(), w.ticket());
    limit.line().push_back(me);
    limit.lock().unlock();
    if (w.park() == wake::notified) return;
    limit.withdraw(me);
    throw cancelled();
}

bool may_run_inline(scheduler& where, const attributes& a) noexcept {
    auto* const c = this_carrier_of(&where);
    return is_plain(a) && c && carrier::can_run_inline(*c->current());
}

[[noreturn]] void refuse(std::size_t most) {
    throw std::system_error(EAGAIN, std::generic_category(),
                            "weft: a runtime with max_fibers = " + std::to_string(most) + " has as many fibers");
}

}  // namespace

admission admit(scheduler& where, const attributes& a) {
    auto& limit = *where.limit();
    if (limit.take()) return admission::placed;
    const auto& options = where.options();
    if (options.when_full == at_limit::fail) refuse(options.max_fibers);
    if (options.when_full == at_limit::run_inline && may_run_inline(where, a)) return admission::inlined;
    wait_for_place(limit);
    return admission::placed;
}

}  // namespace weft::detail

#include "spawn/admission.hpp"

#include <cerrno>
#include <string>

#include <weft/detail/new_fiber.hpp>

#include "sched/scheduler.hpp"
#include "sched/wait/wait_on.hpp"

namespace weft::detail {

spawn_attempt::~spawn_attempt() {
    if (!is_made_) where_.note_refused();
}

bool wait_for_place(fiber_limit& limit, const wait_kind& kind, const std::stop_token& unless) {
    limit.lock().lock();
    if (limit.take_or_close()) {
        limit.lock().unlock();
        return true;
    }
    const auto how = wait_on(limit.lock(), limit.line(), {.kind = kind, .object = &limit}, &unless);
    if (how == wait_end::stopped) throw_cancelled();
    return how == wait_end::notified;
}

namespace {

constexpr wait_kind fiber_limit_wait{.name = "fiber limit"};

bool may_run_inline(scheduler& where, const attributes& a) noexcept {
    auto* const c = this_carrier_of(&where);
    return is_plain(a) && c && carrier::can_run_inline(*c->current());
}

}  // namespace

bool limits_fibers(const scheduler& where) noexcept { return where.options().max_fibers != 0; }

attributes never_inline(const scheduler& where, attributes a) noexcept {
    const auto& o = where.options();
    if (o.max_fibers != 0 && o.when_full == at_limit::run_inline && is_plain(a)) a.stack_bytes = o.stack_bytes;
    return a;
}

no_place::no_place(std::size_t most)
    : std::system_error(EAGAIN, std::generic_category(),
                        "weft: a runtime with max_fibers = " + std::to_string(most) + " has as many fibers") {}

bool await_place(scheduler& where, const std::stop_token& unless) {
    if (!wait_for_place(*where.limit(), fiber_limit_wait, unless)) return false;
    where.limit()->give();
    return true;
}

admission admit(scheduler& where, const attributes& a) {
    auto& limit = *where.limit();
    if (limit.take()) return admission::placed;
    const auto& options = where.options();
    if (options.when_full == at_limit::fail) throw no_place(options.max_fibers);
    if (options.when_full == at_limit::run_inline && may_run_inline(where, a)) return admission::inlined;
    wait_for_place(limit, fiber_limit_wait);
    return admission::placed;
}

}  // namespace weft::detail

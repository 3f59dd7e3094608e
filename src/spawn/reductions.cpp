// reductions.cpp - the count of calls, and when a fiber that has used its budget up gives way.
//
// The count belongs to a turn of one fiber. When another fiber is found to count on this thread,
// the count starts again. The address of the thread's count is formed in count_call() only, and is
// not used after a switch, because the fiber may run on another thread then.
#include <weft/reductions.hpp>

#include <memory>

#include <weft/detail/local_core.hpp>

#include "arch/exception_state.hpp"
#include "base/atomic.hpp"
#include "base/fork.hpp"
#include "base/never_destroyed.hpp"
#include "sched/carrier.hpp"

namespace weft::detail {
namespace {

// relaxed here and below: the value is published alone
atomic<std::uint32_t> calls_in_a_row{reductions::default_budget};
atomic<std::uint64_t> given_way{0};  // a statistic

struct turn {
    const control_block* whose = nullptr;
    std::uint32_t generation = 0;  // of the block, which may be reused
    std::uint32_t left = 0;
    /// Whether this is a turn of `self`, which is the running fiber.
    bool is_of(const control_block& self) const noexcept {
        // relaxed: stable while the fiber lives
        return whose == &self && generation == self.generation.load(relaxed);
    }
};
constinit thread_local turn this_turn;

struct holds : local_value {
    unsigned alive = 0;
};
local_key& holds_key() {
    static never_destroyed<local_key> key;  // fibers may use `hold` until the process ends
    return *key;
}
// FORK-3
[[gnu::constructor(before_static_objects)]] void key_of_holds_is_made() noexcept { holds_key(); }
holds* holds_here() { return static_cast<holds*>(holds_key().find()); }

bool may_give_way() noexcept {
    if (tenure<worker>::holder(this_carrier()->hold()).is_inside()) return false;
    if (exception_state_here()->uncaught > 0) return false;
    const auto* const its = holds_here();
    return !its || its->alive == 0;
}

[[gnu::noinline]] void give_way(control_block& self) noexcept {
    if (!may_give_way()) return;
    given_way.fetch_add(1, relaxed);  // relaxed: a statistic
    carrier::yield(self);
}

}  // namespace

void count_call() noexcept {
    auto* const self = this_fiber_block();
    if (!self) return;
    auto& now = this_turn;
    const bool goes_on = now.is_of(*self);
    if (goes_on && now.left > 0) [[likely]] {
        --now.left;
        return;
    }
    const auto budget = calls_in_a_row.load(relaxed);  // relaxed: published alone
    // this call is the first of a turn
    now = {self, self->generation.load(relaxed), budget > 0 ? budget - 1 : UINT32_MAX};
    if (goes_on && budget > 0) give_way(*self);
}

}  // namespace weft::detail

namespace weft::reductions {

using namespace weft::detail;

// relaxed: published alone
void set_budget(std::uint32_t calls) noexcept { calls_in_a_row.store(calls, relaxed); }
// relaxed: published alone
std::uint32_t budget() noexcept { return calls_in_a_row.load(relaxed); }
// relaxed: a statistic
std::uint64_t times_given_way() noexcept { return given_way.load(relaxed); }

hold::hold() {
    auto* its = holds_here();
    if (!its) its = &static_cast<holds&>(holds_key().keep(std::make_unique<holds>()));
    ++its->alive;
}

hold::~hold() { --holds_here()->alive; }

}  // namespace weft::reductions

// dataflow.cpp - which computation runs on this fiber, and which computation waits for which.
//
// Invariants
//   DATAFLOW-1  The computations that wait form no cycle. A wait that would close one is refused,
//               under the one lock that guards all links.
#include <weft/detail/dataflow.hpp>

#include <memory>

#include <weft/detail/annotated_locks.hpp>
#include <weft/detail/local_core.hpp>

#include "base/fork.hpp"
#include "base/never_destroyed.hpp"
#include "base/spin_lock.hpp"

namespace weft {

dataflow_cycle::dataflow_cycle() : std::logic_error("weft: a computed variable waits for itself") {}

namespace detail {
namespace {

spin_lock links;

struct current_value final : local_value {
    computation* what = nullptr;
};

const local_key& current_key() {
    static never_destroyed<local_key> one;  // outlives every static variable
    return *one;
}

// FORK-3
[[gnu::constructor(before_static_objects)]] void dataflow_follows_forks() noexcept {
    hold_across_forks<links>();
    current_key();
}

}  // namespace

computation* computation::current() noexcept {
    auto* const v = static_cast<current_value*>(current_key().find());
    return v ? v->what : nullptr;
}

computation::running::running(computation& c) {
    auto* v = static_cast<current_value*>(current_key().find());
    if (!v) v = static_cast<current_value*>(&current_key().keep(std::make_unique<current_value>()));
    v->what = &c;
}

computation::running::~running() { static_cast<current_value*>(current_key().find())->what = nullptr; }

computation::waiting::waiting(computation* target, source what) : me_(current()) {
    if (!me_) return;
    if (what == source::ivar) me_->delayed_ = true;
    if (!target) return;
    bool closes;
    {
        const lock_guard guard(links);
        auto* c = target;
        while (c && c != me_) c = c->waits_for_;
        closes = c == me_;
        if (!closes) me_->waits_for_ = target;  // DATAFLOW-1
    }
    if (closes) throw dataflow_cycle();
}

computation::waiting::~waiting() {
    if (!me_) return;
    const lock_guard guard(links);
    me_->waits_for_ = nullptr;
}

void computation::wait_is_over() noexcept {
    const lock_guard guard(links);
    waits_for_ = nullptr;
}

}  // namespace detail
}  // namespace weft

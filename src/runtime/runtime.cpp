// runtime.cpp - the public runtime: forwards to runtime_core, also in a forked child.
#include <weft/runtime.hpp>

#include <algorithm>

#include "runtime/runtime_core.hpp"

namespace weft {

runtime::runtime(runtime_options options) : core_(std::make_unique<detail::runtime_core>(*this, std::move(options))) {}

// The core is leaked in three cases. If the runtime is inherited, its threads do not exist in this
// process, so they cannot be joined, and what they were doing may be incomplete. If the runtime is
// a static object whose destructor runs on one of its own fibers, the process is about to end. If
// the runtime is simulated and has fibers that cannot go on, these may hold anything.
runtime::~runtime() {
    if (core_->is_inherited() || core_->is_ended_by_own_exit() || !core_->ends_simulation()) static_cast<void>(core_.release());
}

bool runtime::shutdown(std::chrono::nanoseconds grace) {
    return core_->is_inherited() || core_->shutdown(detail::deadline_after(grace));
}

void runtime::restart() {
    detail::require(core_->is_inherited(), "runtime::restart() is for a forked child, whose parent has the runtime");
    auto fresh = std::make_unique<detail::runtime_core>(*this, core_->options());
    static_cast<void>(core_.release());  // leaked, as in the destructor
    core_ = std::move(fresh);
}

bool runtime::inherited() const noexcept { return core_->is_inherited(); }

runtime_stats runtime::stats() const {
    runtime_stats r;
    if (core_->is_inherited()) return r;
    auto& s = core_->fibers();
    r.workers = s.worker_count();
    r.fibers = s.live();
    r.spawned = s.born();
    r.refused = s.refused();
    for (unsigned i = 0; i < r.workers; ++i) {
        const auto& w = s.worker_at(i);
        r.switches += w.dispatches();
        r.steals += w.steals();
        r.searches += w.searches();
        r.sleeps += w.sleeps();
        r.wakes += w.wakes();
    }
    s.for_each_carrier([&](const detail::carrier& c) { r.parks += c.parks(); });
    r.carriers = s.carrier_count() - std::min(s.carrier_count(), s.spares().without_thread());
    const auto hand_offs = s.the_monitor().statistics();
    r.hand_offs = hand_offs.taken;
    r.blocked = hand_offs.blocked;
    r.blocking_threads = core_->pools().calls.threads();
    r.identities = s.identities().count();
    r.blocking_waiting = core_->pools().calls.queued();
    const auto stacks = s.stacks().statistics();
    r.stacks_in_use = stacks.in_use;
    r.stacks_idle = stacks.idle;
    r.stacks_unguarded = stacks.unguarded;
    return r;
}

void runtime::for_each_fiber(const std::function<void(fiber_info const&)>& f) const {
    if (!core_->is_inherited()) core_->for_each_fiber(f);
}

runtime* runtime::current() noexcept {
    auto* const core = detail::current_runtime();
    return core ? &core->facade() : nullptr;
}

detail::scheduler& runtime::scheduler() const noexcept {
    detail::require(!core_->is_inherited(), "a runtime made before fork() runs in the parent: restart() it, or make another");
    return core_->fibers();
}

detail::scheduler& detail::scheduler_of(const runtime& rt) noexcept { return rt.scheduler(); }

}  // namespace weft

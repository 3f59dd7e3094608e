#include <weft/runtime.hpp>

#include <algorithm>

#include "runtime/runtime_core.hpp"

namespace weft {

runtime::runtime(runtime_options options) : core_(std::make_unique<detail::runtime_core>(*this, std::move(options))) {}

runtime::~runtime() = default;

bool runtime::shutdown(std::chrono::nanoseconds grace) { return core_->shutdown(detail::deadline_after(grace)); }

runtime_stats runtime::stats() const {
    auto& s = core_->fibers();
    runtime_stats r;
    r.workers = s.worker_count();
    r.fibers = s.live();
    r.spawned = s.born();
    for (unsigned i = 0; i < r.workers; ++i) {
        const auto& w = s.worker_at(i);
        r.switches += w.dispatches();
        r.steals += w.steals();
        r.searches += w.searches();
        r.sleeps += w.sleeps();
        r.wakes += w.wakes();
    }
    s.for_each_carrier([&](const detail::carrier& c) { r.parks += c.parks(); });
    r.carriers = s.carrier_count() - std::min(s.carrier_count(), s.hand_offs().without_thread());
    const auto hand_offs = s.hand_offs().statistics();
    r.hand_offs = hand_offs.taken;
    r.blocked = hand_offs.blocked;
    const auto stacks = s.stacks().statistics();
    r.stacks_in_use = stacks.in_use;
    r.stacks_idle = stacks.idle;
    r.stacks_unguarded = stacks.unguarded;
    return r;
}

void runtime::for_each_fiber(const std::function<void(fiber_info const&)>& f) const { core_->for_each_fiber(f); }

runtime* runtime::current() noexcept {
    auto* const core = detail::current_runtime();
    return core ? &core->facade() : nullptr;
}

detail::scheduler& runtime::scheduler() const noexcept { return core_->fibers(); }

detail::scheduler& detail::scheduler_of(const runtime& rt) noexcept { return rt.scheduler(); }

}  // namespace weft

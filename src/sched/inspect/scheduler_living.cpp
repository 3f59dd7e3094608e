// scheduler_living.cpp - takes references to fibers that the caller does not yet hold.
//
// These are all living fibers, or the one in a given control block.
#include <span>
#include <utility>
#include <vector>

#include "sched/scheduler.hpp"

namespace weft::detail {

// While this object lives, its thread may take references to fibers it has none of (LIFE_WORD-3).
class scheduler::observation {
public:
    explicit observation(scheduler& s) noexcept : count_(s.observers_) {
        count_.fetch_add(1, relaxed);
        heavy_fence();  // pairs with the light fence of a visit
        s.for_each_carrier([](carrier& c) { c.hold().await_outside(); });
    }
    // Pairs with is_observed(): a thread that sees no observer sees the references taken.
    ~observation() { count_.fetch_sub(1, release); }
    observation(const observation&) = delete;
    observation& operator=(const observation&) = delete;

private:
    atomic<std::uint32_t>& count_;
};

std::vector<scheduler::fiber_guard> scheduler::living() {
    std::vector<fiber_guard> found;
    const observation meanwhile(*this);
    blocks_.for_each([&](control_block& f) {
        found.emplace_back();  // before the reference is taken, since it may throw
        if (f.life.try_refer())
            found.back().reset(&f);
        else
            found.pop_back();
    });
    return found;  // the caller drops the references outside the pool's lock
}

// A fiber that is asked to stop meanwhile, or a new one in the same block, may be left out or asked
// twice: neither does harm.
std::size_t scheduler::unstopped(std::span<fiber_guard> into) noexcept {
    const observation meanwhile(*this);
    std::size_t n = 0;
    blocks_.for_each([&](control_block& f) {
        if (n < into.size() && f.stop.load(relaxed) == stop_stage::none && f.life.try_refer()) into[n++].reset(&f);
    });
    return n;
}

scheduler::fiber_guard scheduler::guard(control_block& f) noexcept {
    const observation meanwhile(*this);
    blocks_.catch_up();
    if (!f.life.try_refer()) return nullptr;
    fiber_guard held(&f);
    return f.has_ended() ? nullptr : std::move(held);
}

}  // namespace weft::detail

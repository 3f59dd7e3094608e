// spawn.cpp - makes fibers and starts them: the one path that is inlined from end to end, since a fiber costs little more.
#include <weft/detail/new_fiber.hpp>
#include <weft/fiber.hpp>

#include <mutex>

#include "base/panic.hpp"
#include "sched/bound.hpp"
#include "sched/scheduler.hpp"
#include "sched/worker_inline.hpp"
#include "sync/admission.hpp"

namespace weft::detail {
namespace {

[[gnu::always_inline]] inline bool is_common(const attributes& a) noexcept { return a.name.empty() && has_common_stack(a); }

// One test for both.
[[gnu::always_inline]] inline bool is_special(const scheduler& where, const attributes& a) noexcept {
    return (unsigned{where.looks_at_spawns()} | unsigned{a.priority.is_made()}) != 0;
}

[[gnu::always_inline]] inline void prepare(control_block& f, const std::source_location& site, bool detached) noexcept {
    f.home = nullptr;
    f.parent = nullptr;
    f.failed = f.named = f.told = false;
    f.rare = 0;
    f.spilled = 0;
    f.detached = detached;
    f.failure_taken.store(false, relaxed);
    f.phase.store(fiber_state::created, relaxed);
    if (f.stop.load(relaxed) != stop_stage::none) [[unlikely]] {
        f.stop.store(stop_stage::none, relaxed);
        f.rest().stops.store(0, relaxed);
    }
    f.site = site;
    f.generation.store(f.generation.load(relaxed) + 1, relaxed);
    f.life.begin(detached);
}

}  // namespace

new_fiber::new_fiber(scheduler& where, const attributes& a, start_as kind, std::size_t bytes, std::size_t alignment)
    : where_(&where) {
    const bool fits = bytes <= control_block::room_bytes && alignment <= control_block::room_alignment;
    if (carrier* const c = this_carrier_of(&where); c && fits && is_common(a) && !is_special(where, a)) [[likely]]
        if (control_block* const f = c->blocks().take_at_hand()) [[likely]] {
            prepare(*f, a.site, kind == start_as::detached);
            fiber_ = f;
            room_ = f->room;
            return;
        }
    make(a, kind, bytes, fits ? 0 : alignment);
}

// The general case. `spill_alignment`: of a body that needs memory of its own; else 0.
void new_fiber::make(const attributes& a, start_as kind, std::size_t bytes, std::size_t spill_alignment) {
    scheduler& where = *where_;
    if (where.limit())
        if (admit(where, a) == admission::inlined) where_ = nullptr;
    try {
        carrier* const c = this_carrier_of(&where);
        fiber_ = c ? c->blocks().take() : &where.blocks().take_one();
        prepare(*fiber_, a.site, kind == start_as::detached);
        if (!a.name.empty()) {
            const std::lock_guard guard(fiber_->lock);  // a dump may look at it already
            fiber_->set_name(a.name);
        }
        room_ = spill_alignment ? fiber_->spill(bytes, spill_alignment) : fiber_->room;
        if (const auto p = a.priority.else_of(this_fiber::priority()); p != priority::normal) {
            where.begin_classes();
            fiber_->rare |= p == priority::high ? rare_high : rare_low;
            fiber_->is_apart = true;
            fiber_->rest().make_ready.store(ready_class_fiber, relaxed);  // published by the start
        }
        if (!has_common_stack(a) || (where.census() && where_)) {  // who runs inline is measured with its spawner
            fiber_->rare |= rare_stack;
            fiber_->rest().stack_bytes = a.stack_bytes ? a.stack_bytes : where.options().stack_bytes;
            fiber_->keeps_worker.store(!a.preempt, relaxed);  // published by the start
            bind_new(*fiber_, where, a.move);
        }
    } catch (...) {
        discard();
        throw;
    }
}

void new_fiber::discard() noexcept {
    if (where_ && where_->limit()) where_->limit()->give();
    if (!fiber_) return;
    if (fiber_->has_own_stack()) let_go(*fiber_);
    if (fiber_->spilled) fiber_->free_spilled(room_);
    if (!fiber_->detached) scheduler::drop_handle(*fiber_);
    scheduler::drop(*fiber_);
}

fiber_ref new_fiber::start(task& body) noexcept {
    auto& f = *std::exchange(fiber_, nullptr);
    f.body = &body;
    const bool detached = f.detached;
    if (carrier* const c = this_carrier_of(where_)) [[likely]]
        c->start(f);
    else
        launch(f);
    return detached ? fiber_ref() : fiber_ref(f);  // a detached fiber may be gone
}

control_block& new_fiber::release(task& body) noexcept {
    fiber_->body = &body;
    return *std::exchange(fiber_, nullptr);
}

void new_fiber::launch(control_block& f) noexcept {
    if (carrier* const c = this_carrier_of(where_)) [[likely]]
        c->start(f);
    else if (where_)
        where_->start(f);
    else
        carrier::run_inline(*this_fiber_block(), f);
}

scheduler& runtime_here(std::string_view what) noexcept {
    const auto* const c = this_carrier();
    if (!c) panic("a plain thread has no runtime to start fibers in; call it inside weft::run(), or runtime::spawn()", what);
    return c->owner();
}

}  // namespace weft::detail

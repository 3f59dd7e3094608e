// spawn.cpp - makes fibers and starts them: the one path that is inlined from end to end, since a fiber costs little more.
#include <weft/detail/new_fiber.hpp>
#include <weft/fiber.hpp>

#include "base/panic.hpp"
#include "sched/scheduler.hpp"
#include "sched/worker_inline.hpp"
#include "sync/admission.hpp"

namespace weft::detail {
namespace {

// The worker the caller runs on, if it is one of `where`.
worker* worker_here(const scheduler* where) noexcept {
    const auto* const c = this_carrier();
    return c && c->owner == where ? c->lent_to : nullptr;
}

void prepare(control_block& f, const attributes& a, bool detached) noexcept {
    f.home = nullptr;
    f.parent = nullptr;
    f.failed = f.told = f.named = false;
    f.detached = detached;
    f.has_own_stack = a.stack_bytes != 0;
    if (f.has_own_stack) f.stack_bytes = a.stack_bytes;
    f.failure_taken.store(false, relaxed);
    f.phase.store(fiber_state::created, relaxed);
    f.stop_requested.store(false, relaxed);
    if (f.stops.load(relaxed) != 0) f.stops.store(0, relaxed);
    if (!a.name.empty()) f.set_name(a.name);
    f.site = a.site;
    f.generation.store(f.generation.load(relaxed) + 1, relaxed);
    f.life.begin(detached);
}

}  // namespace

new_fiber::new_fiber(scheduler& where, const attributes& a, start_as kind, std::size_t bytes, std::size_t alignment)
    : where_(&where) {
    if (where.limit()) [[unlikely]]
        if (admit(where, a) == admission::inlined) where_ = nullptr;
    try {
        worker* const w = worker_here(&where);
        fiber_ = w ? w->blocks().take() : &where.blocks().take_one();
        prepare(*fiber_, a, kind == start_as::detached);
        room_ = fiber_->room;
        fiber_->spilled = 0;
        if (bytes > control_block::room_bytes || alignment > control_block::room_alignment) [[unlikely]]
            room_ = fiber_->spill(bytes, alignment);
    } catch (...) {
        discard();
        throw;
    }
}

void new_fiber::discard() noexcept {
    if (where_ && where_->limit()) where_->limit()->give();
    if (!fiber_) return;
    if (fiber_->spilled) fiber_->free_spilled(room_);
    if (!fiber_->detached) scheduler::drop_handle(*fiber_);
    scheduler::drop(*fiber_);
}

control_block& new_fiber::release(task& body) noexcept {
    fiber_->body = &body;
    return *std::exchange(fiber_, nullptr);
}

fiber_ref new_fiber::start(task& body) noexcept {
    auto& f = release(body);
    const bool detached = f.detached;
    launch(f);
    return detached ? fiber_ref() : fiber_ref(f);  // a detached fiber may be gone
}

void new_fiber::launch(control_block& f) noexcept {
    if (worker* const w = worker_here(where_)) [[likely]]
        w->start(f);
    else if (where_)
        where_->start(f);
    else
        worker::run_inline(*this_carrier()->current, f);
}

scheduler& runtime_here(std::string_view what) noexcept {
    const auto* const c = this_carrier();
    if (!c) panic("a plain thread has no runtime to start fibers in; call it inside weft::run(), or runtime::spawn()", what);
    return *c->owner;
}

}  // namespace weft::detail

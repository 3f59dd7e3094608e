// spawn.cpp - makes fibers and starts them, in one path that is inlined from end to end.
//
// A whole fiber costs little more than this path.
#include <weft/detail/annotated_locks.hpp>
#include <weft/detail/new_fiber.hpp>
#include <weft/fiber.hpp>

#include <stdexcept>
#include <string>

#include "base/panic.hpp"
#include "fiber/switch_point.hpp"
#include "sched/identity/outside.hpp"
#include "sched/pinned.hpp"
#include "sched/scheduler.hpp"
#include "sched/worker_inline.hpp"
#include "spawn/admission.hpp"

namespace weft::detail {
namespace {

[[gnu::always_inline]] inline bool is_common(const attributes& a) noexcept {
    return a.name.empty() && has_common_stack(a) && !a.run_now;
}

// Whether the runtime looks at spawns or a priority is set: one test for both.
[[gnu::always_inline]] inline bool is_special(const scheduler& where, const attributes& a) noexcept {
    return (unsigned{where.looks_at_spawns()} | unsigned{a.priority.is_made()}) != 0;
}

// Makes a free block ready for a new fiber. A free block has no traces (CONTROL_BLOCK-6). False:
// its generations are used up, so it is never used again (BLOCK_POOL-7).
[[gnu::always_inline]] inline bool prepare(control_block& f, const std::source_location& site, bool detached) noexcept {
    const auto generation = f.generation.load(relaxed) + 1;
    if (generation == 0) [[unlikely]] {
        f.leave_trace();  // marks it as used up
        return false;
    }
    f.generation.store(generation, relaxed);
    f.home = nullptr;
    f.parent = nullptr;
    f.mark = {.detached = detached};
    f.phase.store(fiber_state::created, relaxed);
    f.site = site;
    f.life.begin(detached);
    return true;
}

void check_stack_bytes(std::size_t bytes) {
    if (bytes < least_stack_bytes || bytes > most_stack_bytes)
        throw std::invalid_argument("weft: attributes::stack_bytes must be 0 (the runtime's) or 16 KiB to 1 GiB, not " +
                                    std::to_string(bytes));
}

// A fiber that runs on a carrier of its own cannot run on its spawner's.
void check_run_now(const attributes& a) {
    if (a.run_now && a.move == migrate::own_carrier)
        throw std::invalid_argument("weft: attributes::run_now cannot be had with a move of migrate::own_carrier");
}

// Undoes what was made of a fiber, unless keep() is called.
class half_made {
public:
    half_made(scheduler& where, admission how) noexcept : where_(where), how_(how) {}
    ~half_made() {
        if (is_kept_) return;
        if (how_ == admission::placed && where_.limit()) where_.limit()->give();
        if (!fiber) return;
        if (fiber->has_own_stack()) let_go(*fiber);
        if (fiber->is_any(rare_identity)) take_identity_back(*fiber);
        if (fiber->spilled) fiber->free_spilled(room);
        if (!fiber->mark.detached) scheduler::drop_handle(*fiber);
        scheduler::drop(*fiber);
    }
    half_made(const half_made&) = delete;
    half_made& operator=(const half_made&) = delete;
    void keep() noexcept { is_kept_ = true; }

    control_block* fiber = nullptr;
    void* room = nullptr;

private:
    scheduler& where_;
    const admission how_;
    bool is_kept_ = false;
};

void set_attributes(control_block& f, scheduler& where, const attributes& a, admission how) {
    if (!a.name.empty()) {
        const lock_guard guard(f.lock);  // a dump may already look at the name
        f.set_name(a.name);
    }
    if (const auto p = a.priority.else_of(this_fiber::priority()); p != priority::normal) {
        where.begin_classes();
        f.make_rare(p == priority::high ? rare_high : rare_low);
        f.is_apart = true;
        f.cold().make_ready.store(ready_class_fiber, relaxed);  // relaxed: published by the start
    }
    const bool is_watched = where.census() || where.tortures();
    // a fiber that runs inline uses its spawner's stack
    if (!has_common_stack(a) || (is_watched && how == admission::placed)) {
        f.make_rare(rare_stack);
        f.cold().stack_bytes = static_cast<std::uint32_t>(a.stack_bytes ? a.stack_bytes : where.options().stack_bytes);
        f.keeps_worker.store(!a.preempt, relaxed);  // relaxed: published by the start
        const bool is_thread = a.as_thread && fibers_can_be_threads();
        pin_new(f, where, a.as_thread && !is_thread ? migrate::own_carrier : a.move);
        if (is_thread) give_identity(f);
    }
}

// The common case: takes a block from the carrier's own store. Null if that is not possible.
[[gnu::always_inline]] inline control_block* take_block(carrier& c, const std::source_location& site, start_as kind) noexcept {
    control_block* const f = c.blocks().take_at_hand();
    return f && prepare(*f, site, kind == start_as::detached) ? f : nullptr;
}

[[gnu::cold]] void launch_rare(control_block& f) noexcept {
    if (f.is_any(rare_inline))
        carrier::run_inline(*this_fiber_block(), f);
    else if (carrier* const c = this_carrier_of(f.owner); c && f.is_any(rare_now))
        c->start_now(f);
    else
        f.owner->start(f);
}

[[gnu::always_inline]] inline void launch_here(control_block& f) noexcept {
    if (carrier* const c = this_carrier_of(f.owner); c && !f.is_any(rare_start)) [[likely]]
        c->start_common(f);
    else
        launch_rare(f);
}

}  // namespace

template <start_as kind>
new_fiber::made new_fiber::make_plain(const char* what, std::source_location site) {
    if (carrier* const c = this_carrier(); c && !c->owner().looks_at_spawns()) [[likely]]
        if (control_block* const f = take_block(*c, site, kind)) [[likely]]
            return {f, f->room};
    return make_plain_slowly(what, site, kind);
}
template <start_as kind>
new_fiber::made new_fiber::make_plain(scheduler& where, std::source_location site) {
    if (carrier* const c = this_carrier_of(&where); c && !where.looks_at_spawns()) [[likely]]
        if (control_block* const f = take_block(*c, site, kind)) [[likely]]
            return {f, f->room};
    return make_plain_slowly(where, site, kind);
}
template new_fiber::made new_fiber::make_plain<start_as::joinable>(scheduler&, std::source_location);
template new_fiber::made new_fiber::make_plain<start_as::detached>(scheduler&, std::source_location);
template new_fiber::made new_fiber::make_plain<start_as::joinable>(const char*, std::source_location);
template new_fiber::made new_fiber::make_plain<start_as::detached>(const char*, std::source_location);

new_fiber::made new_fiber::make(scheduler& where, const attributes& a, start_as kind, std::size_t bytes, std::size_t alignment) {
    const bool fits = bytes <= body_room && alignment <= body_alignment;
    if (carrier* const c = this_carrier_of(&where); c && fits && is_common(a) && !is_special(where, a)) [[likely]]
        if (control_block* const f = take_block(*c, a.site, kind)) [[likely]]
            return {f, f->room};
    return make_slowly(where, a, kind, bytes, fits ? 0 : alignment);
}

new_fiber::made new_fiber::make(scheduler& where, std::source_location site, start_as kind, std::size_t bytes,
                                std::size_t alignment) {
    return make(where, {.site = site}, kind, bytes, alignment);
}

[[gnu::noinline]] new_fiber::made new_fiber::make_plain_slowly(const char* what, std::source_location site, start_as kind) {
    return make_slowly(runtime_here(what), {.site = site}, kind, 0, 0);
}
[[gnu::noinline]] new_fiber::made new_fiber::make_plain_slowly(scheduler& where, std::source_location site, start_as kind) {
    return make_slowly(where, {.site = site}, kind, 0, 0);
}

// The general case. `spill_alignment` is that of a body that needs memory of its own; otherwise it
// is 0.
new_fiber::made new_fiber::make_slowly(scheduler& where, const attributes& a, start_as kind, std::size_t bytes,
                                       std::size_t spill_alignment) {
    if (a.stack_bytes != 0) check_stack_bytes(a.stack_bytes);
    check_run_now(a);
    switch_point();
    spawn_attempt attempt(where);
    const auto how = where.limit() ? admit(where, a) : admission::placed;
    half_made it(where, how);
    carrier* const c = this_carrier_of(&where);
    const auto take = [&] { return c ? c->blocks().take() : &where.blocks().take_one(); };
    control_block* block = take();
    while (!prepare(*block, a.site, kind == start_as::detached)) block = take();
    it.fiber = block;
    control_block& f = *block;
    it.room = spill_alignment ? f.spill(bytes, spill_alignment) : f.room;
    set_attributes(f, where, a, how);
    if (how == admission::inlined) f.make_rare(rare_inline);
    if (a.run_now) f.make_rare(rare_now);
    it.keep();
    attempt.succeed();
    return {it.fiber, it.room};
}

void new_fiber::discard(control_block& f, void* room) noexcept {
    half_made it(*f.owner, f.is_any(rare_inline) ? admission::inlined : admission::placed);
    it.fiber = &f;
    it.room = room;
}

void new_fiber::start(control_block& f, task& body) noexcept {
    f.body = &body;
    launch_here(f);
}

control_block& new_fiber::release(task& body) noexcept {
    fiber_->body = &body;
    return *std::exchange(fiber_, nullptr);
}

void new_fiber::launch(control_block& f) noexcept { launch_here(f); }

scheduler& runtime_here(std::string_view what) noexcept {
    const auto* const c = this_carrier();
    if (!c) panic("a plain thread has no runtime to start fibers in; call it inside weft::run(), or runtime::spawn()", what);
    return c->owner();
}

}  // namespace weft::detail

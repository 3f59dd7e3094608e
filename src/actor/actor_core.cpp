#include "actor/actor_core.hpp"

#include <typeinfo>

#include <weft/detail/annotated_locks.hpp>
#include <weft/detail/new_fiber.hpp>
#include <weft/stop.hpp>

#include "base/panic.hpp"
#include "sched/scheduler.hpp"
#include "sched/wait/fiber_stop.hpp"

namespace weft::detail {
namespace {

/// The body of an actor's fiber; current_actor() recognizes it by its type.
class actor_task final : public task {
public:
    explicit actor_task(actor_core& a) noexcept : actor_(a) { actor_.hold(); }
    ~actor_task() override { actor_.let_go(); }
    actor_core& actor() const noexcept { return actor_; }

private:
    void body() override { actor_.live(); }

    actor_core& actor_;
};

/// Stops the fiber and gives the reference back.
void stop_referred(control_block& f) noexcept {
    request_stop(f);
    scheduler::drop(f);
}

}  // namespace

actor_core* current_actor() noexcept {
    const auto* const f = this_fiber_block();
    if (!f || !f->body || typeid(*f->body) != typeid(actor_task)) return nullptr;
    return &static_cast<actor_task*>(f->body)->actor();
}

actor_core::actor_core(const actor_attributes& a, std::unique_ptr<actor_program> program)
    : mailbox_core(a.mailbox, a.overflow),
      name_(a.name),
      program_(std::move(program)),
      type_(program_->type()),
      on_linked_end_(program_->on_linked_end()),
      time_to_stop_(std::chrono::seconds(5)),  // chosen
      stack_bytes_(a.stack_bytes),
      move_(a.move),
      preempt_(a.preempt),
      priority_(a.priority) {}

// References and holds.

void actor_core::refer() noexcept {
    // Only the actor itself can go from 0 to 1, and its fiber holds it then.
    if (references_.fetch_add(1, relaxed) == 0) hold();
}

void actor_core::drop() noexcept {
    // Pairs with itself. release: publishes what this reference did. acquire: sees what the others
    // did, before the doors close.
    if (references_.fetch_sub(1, acq_rel) != 1) return;
    close();
    let_go();
}

void actor_core::let_go() noexcept {
    if (holds_.fetch_sub(1, acq_rel) == 1) delete this;  // acq_rel as in drop()
}

std::shared_ptr<linkable> actor_core::held() {
    hold();
    return std::shared_ptr<linkable>(this, [](actor_core* a) { a->let_go(); });
}

// Lives.

void actor_core::set_parent(std::shared_ptr<actor_parent> p, std::chrono::nanoseconds time_to_stop) noexcept {
    parent_ = std::move(p);
    is_supervised_ = true;
    time_to_stop_ = time_to_stop;
}

void actor_core::start(scheduler& where) {
    begin_life();
    const auto how = never_inline(
        where,
        {.name = name_, .stack_bytes = stack_bytes_, .move = move_, .preempt = preempt_, .priority = priority_, .site = {}});
    new_fiber made(where, how, start_as::joinable, sizeof(actor_task), alignof(actor_task));
    control_block& f = made.release(*::new (made.room()) actor_task(*this));
    {
        const lock_guard guard(lock_);
        phase_.store(phase::running, relaxed);
        fiber_ = fiber_ref(f);  // ACTOR_CORE-3
        ++life_;
        link_failure_ = nullptr;
    }
    made.launch(f);
}

void actor_core::stop() noexcept { leave(is_supervised_ ? and_then::stay_open : and_then::close); }

void actor_core::kill() noexcept {
    control_block* f;
    {
        const lock_guard guard(lock_);
        f = fiber_.block();
        if (!f) return;
        f->life.refer();  // ACTOR_CORE-3: the handle holds a reference
    }
    stop_referred(*f);
}

void actor_core::live() noexcept {
    auto why = run_program();
    const shield uninterrupted;
    if (taken_ && why.failure) tell_failure(*taken_, why.failure);
    if (taken_ && why.abnormal()) refuse(*taken_, ask_end::gone);
    drop_taken();
    life_ended(std::move(why));
}

exit_reason actor_core::run_program() noexcept {
    try {
        program_->run(*this);
        return {.kind = is_leaving() ? exit_kind::stopped : exit_kind::normal};
    } catch (const cancelled&) {
        const lock_guard guard(lock_);
        if (link_failure_) return {.kind = exit_kind::failed, .failure = link_failure_};
        return {.kind = exit_kind::killed};
    } catch (...) {
        return {.kind = exit_kind::failed, .failure = std::current_exception()};
    }
}

void actor_core::life_ended(exit_reason why) noexcept {
    fiber_ref ended;
    {
        const lock_guard guard(lock_);
        phase_.store(phase::idle, relaxed);
        ended = std::move(fiber_);
    }
    break_links(*this, why);
    if (const auto parent = parent_)
        // The parent may start the next life at once, so nothing of this one may follow.
        parent->life_ended(std::move(why));
    else
        end(std::move(why));
}

void actor_core::end(exit_reason why) noexcept {
    {
        const lock_guard guard(lock_);
        if (phase_.load(relaxed) >= phase::ending) return;
        why_ = why;
        phase_.store(phase::ending, release);  // pairs with throw_gone()
    }
    // What is destroyed here may drop its last references.
    hold();
    seal();
    // Pairs with has_ended(). Stored before anything is told, so that a caller that comes later
    // sees it.
    phase_.store(phase::ended, release);
    break_links(*this, why);  // the links made since its last life
    const bool heard = tell_monitors(*this, why);
    if (!is_supervised_) report_if_unheard(why, heard);
    program_.reset();
    parent_.reset();
    let_go();
}

void actor_core::report_if_unheard(const exit_reason& why, bool somebody_hears) noexcept {
    if (why.kind != exit_kind::failed || somebody_hears || failure_was_told_) return;
    if (auto* const f = this_fiber_block()) f->owner->report_unhandled(*f, why.failure);
}

void actor_core::throw_gone() {
    if (phase_.load(acquire) >= phase::ending) throw actor_gone(name_, why_);  // pairs with end()
    throw actor_gone(name_, {.kind = is_leaving() ? exit_kind::stopped : exit_kind::normal});
}

// Messages.

void actor_core::serve(void* actor) {
    while (const auto m = next(never)) {
        try {
            m->handle(actor, *this);
        } catch (...) {
            tell_failure(*m, std::current_exception());
            throw;
        }
        if (taken_) drop_taken();
    }
}

void actor_core::tell_failure(message& of_asker, const std::exception_ptr& failure) noexcept {
    asker* const a = claim_asker(of_asker);
    if (!a) return;
    a->place->failure = failure;
    failure_was_told_ = true;
    a->unpark();
}

void actor_core::drop_taken() noexcept {
    if (const auto m = std::move(taken_)) refuse(*m, ask_end::not_answered);
}

void actor_core::lost(std::unique_ptr<message> m, ask_end why) noexcept {
    if (refuse(*m, why)) return;
    report_dead_letter(name_, *m, why == ask_end::gone ? dead_letter::cause::actor_gone : dead_letter::cause::no_room);
}

bool actor_core::is_caller() const noexcept { return current_actor() == this; }

std::uint64_t actor_core::life() noexcept {
    const lock_guard guard(lock_);
    return life_;
}

void actor_core::linked_end(std::uint64_t life, std::string_view other, const exit_reason& why) noexcept {
    if (on_linked_end_) {
        // It is a message, which a next life handles as any other.
        force(on_linked_end_(other, why));
        return;
    }
    auto failure = failure_of_link(other, why);
    control_block* f;
    {
        const lock_guard guard(lock_);
        f = life_ == life ? fiber_.block() : nullptr;
        if (!f) return;  // ACTOR_CORE-6: that life has ended by itself
        f->life.refer();  // ACTOR_CORE-3
        std::swap(link_failure_, failure);
    }
    stop_referred(*f);
}

}  // namespace weft::detail

// actor.cpp - the compiled half of actor_ref and mailbox, and what the outcomes mean to callers.
#include <weft/actor.hpp>
#include <weft/detail/annotated_locks.hpp>
#include <weft/event_source.hpp>

#include <string>
#include <system_error>

#include <weft/deadline.hpp>
#include <weft/detail/new_fiber.hpp>

#include "actor/actor_core.hpp"
#include "base/fork.hpp"
#include "base/futex_lock.hpp"
#include "base/in_quotes.hpp"
#include "base/panic.hpp"
#include "sched/scheduler.hpp"

namespace weft::detail {
namespace {

using posted = mailbox_core::posted;
using asked = mailbox_core::asked;

[[noreturn]] void throw_no_room(const actor_core& a) {
    throw std::system_error(std::make_error_code(std::errc::no_buffer_space),
                            "weft: no room in the mailbox of actor " + in_quotes(a.name()));
}

std::string quoted(const actor_core& a) { return in_quotes(a.name()); }

/// During its lifetime one actor waits for another's answer. \throws actor_deadlock
class waiting_for {
public:
    waiting_for(actor_core* me, actor_core& target, bool for_ever) : me_(for_ever ? me : nullptr) {
        if (me == &target) throw actor_deadlock("actor " + quoted(target) + " asks itself");
        if (!me_) return;
        std::string circle;
        {
            const lock_guard guard(lock_);
            const auto* a = &target;
            while (a && a != me_) a = a->asks;
            if (!a)
                me_->asks = &target;  // ACTOR_CORE-5: the waiting actors form no circle
            else
                circle = circle_from(*me_, target);
        }
        if (!circle.empty()) {
            me_ = nullptr;
            throw actor_deadlock("actors wait for each other: " + circle);
        }
    }
    ~waiting_for() {
        if (me_) end(*me_);
    }
    static void asks_follow_forks() noexcept { hold_across_forks<lock_>(); }
    static void end(actor_core& me) noexcept {
        const lock_guard guard(lock_);
        me.asks = nullptr;
    }
    actor_core* asks_for_ever() const noexcept { return me_; }
    waiting_for(const waiting_for&) = delete;
    waiting_for& operator=(const waiting_for&) = delete;

private:
    static std::string circle_from(const actor_core& me, const actor_core& target) {
        std::string text = quoted(me);
        for (const auto* a = &target; a != &me; a = a->asks) text += " asks " + quoted(*a);
        return text + " asks " + quoted(me);
    }

    static inline futex_lock lock_;
    actor_core* me_;
};

// FORK-3
[[gnu::constructor(before_static_objects)]] void asks_follow_forks() noexcept { waiting_for::asks_follow_forks(); }

/// The failure of a handler, as its asker gets it.
exit_reason reason_of(std::exception_ptr failure) {
    if (is_cancellation(failure)) return {.kind = exit_kind::killed};
    return {.kind = exit_kind::failed, .failure = std::move(failure)};
}

}  // namespace

void report_here(std::exception_ptr failure) noexcept {
    if (auto* const f = this_fiber_block()) f->owner->report_unhandled(f, failure, unheard::handler);
}

actor_core* make_actor(const actor_attributes& a, std::unique_ptr<actor_program> program) {
    return new actor_core(a, std::move(program));
}

void start_actor(actor_core& a, std::string_view what) { a.start(runtime_here(what)); }
void start_actor(actor_core& a, const runtime& rt) { a.start(scheduler_of(rt)); }

void add_actor_ref(actor_core& a) noexcept { a.refer(); }
void drop_actor_ref(actor_core& a) noexcept { a.drop(); }
void actor_core_ref::empty_actor_ref() noexcept { panic("actor_ref: a reference is not used after it was moved from"); }

actor_core& self_core(std::string_view what) noexcept {
    auto* const a = current_actor();
    if (!a) panic("only an actor's own fiber has a mailbox", what);
    return *a;
}

actor_core* add_ref_to_self(std::string_view what) noexcept {
    auto& a = self_core(what);
    a.refer();
    return &a;
}

void require_actor_type(const actor_core& a, const std::type_info& type) noexcept {
    require(a.type() == type, "self<A>(): the actor is no A");
}

void actor_send(actor_core& a, std::unique_ptr<message> m) {
    switch (a.post(m)) {
        case posted::accepted: return;
        case posted::dropped: return report_dead_letter(a.name(), *m, dead_letter::cause::no_room);
        case posted::closed: a.throw_gone();
        case posted::full: break;
    }
    if (a.waits_for_room()) throw actor_deadlock("actor " + quoted(a) + " waits for room in its own mailbox");
    throw_no_room(a);
}

void actor_ask(actor_core& a, std::unique_ptr<message> m, answer_place& place, time_point until) {
    auto* const me = current_actor();
    const waiting_for edge(me, a, until == never && me && !caller_cell().slot.deadlines);
    place.asks_for_ever = edge.asks_for_ever();
    switch (a.ask(m, place, until)) {
        case asked::answered: break;
        case asked::gone:
            if (place.failure) throw actor_gone(a.name(), reason_of(place.failure));
            a.throw_gone();
        case asked::closed: a.throw_gone();
        case asked::not_answered: throw no_reply(a.name());
        case asked::timed_out: throw timeout_error("weft: actor " + quoted(a) + " has not answered in time");
        case asked::no_room:
        case asked::dropped:
        case asked::full: throw_no_room(a);
    }
    if (place.failure) std::rethrow_exception(place.failure);
}

reserved_room::reserved_room(actor_core& a) : actor_(a.reserve() ? &a : nullptr) {}

reserved_room::~reserved_room() {
    if (actor_) actor_->unreserve();
}

void reserved_room::post(std::unique_ptr<message> m) noexcept {
    auto& a = *std::exchange(actor_, nullptr);
    if (!a.post_reserved(m)) report_dead_letter(a.name(), *m, dead_letter::cause::actor_gone);
}

void asks_no_longer(actor_core& who) noexcept { waiting_for::end(who); }

answering::answering(actor_core& a, message& m) noexcept : asker_(a.claim_asker(m)) {}

answering::~answering() {
    if (!asker_) return;
    asker_->how = ask_end::answered;
    unpark_inline(asker_->cell());
}

answer_place* answering::place() const noexcept { return asker_ ? asker_->place : nullptr; }

void no_handler(const std::type_info& of_message) noexcept {
    panic("actor: an object of a final class handles what it is sent", of_message.name());
}

void serve(actor_core& a, void* actor) { a.serve(actor); }

next_result next_message(actor_core& self, time_point until) {
    require(current_actor() == &self, "a mailbox is used by its actor's own fiber");
    auto why = channel_op::done;
    auto taken = self.next(until, why);
    return {.how = taken ? channel_op::done : why, .taken = std::move(taken)};
}

next_result next_message_if(actor_core& self, time_point until, bool (*wanted)(void*, message&), void* context) {
    require(current_actor() == &self, "a mailbox is used by its actor's own fiber");
    auto why = channel_op::done;
    auto taken = self.next_if(until, wanted, context, why);
    return {.how = taken ? channel_op::done : why, .taken = std::move(taken)};
}

message& keep_taken(actor_core& self, std::unique_ptr<message> m) noexcept {
    self.drop_taken();
    self.taken() = std::move(m);
    return *self.taken();
}

message* taken(actor_core& self) noexcept { return self.taken().get(); }
void drop_taken(actor_core& self) noexcept { self.drop_taken(); }

bool can_answer(actor_core& self, const std::type_info& type) noexcept {
    return self.taken() && self.asker_expects(*self.taken(), type);
}

std::chrono::nanoseconds time_to_stop(const actor_core& self) noexcept { return self.time_to_stop(); }

void actor_close(actor_core& a) noexcept { a.close(); }
void actor_stop(actor_core& a) noexcept { a.stop(); }
void actor_kill(actor_core& a) noexcept { a.kill(); }
bool actor_has_ended(const actor_core& a) noexcept { return a.has_ended(); }
std::size_t actor_mailbox_size(actor_core& a) noexcept { return a.size(); }
std::string_view actor_name(const actor_core& a) noexcept { return a.name(); }

}  // namespace weft::detail

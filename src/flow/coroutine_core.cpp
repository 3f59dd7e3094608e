// coroutine_core.cpp - calls, yields and ends coroutines: chain of callers, exceptions, stacks.
//
// Invariants
//   COROUTINE_CORE-1  The coroutines that run for one caller form a chain: its slot points to the
//                     innermost, and each points to the one that called it. All of them are in
//                     state running; all others are suspended or done.
//   COROUTINE_CORE-2  `caller` is valid while the coroutine runs. A transfer copies it, so it does
//                     not matter which of the two coroutines ends first.
//   COROUTINE_CORE-3  While a coroutine runs, the deadlines and shields that began in it are in the
//                     list of the fiber or thread that runs it. Otherwise they are in its own list
//                     and interrupt nothing. `due` says that there may be some.
//   COROUTINE_CORE-4  The core and the body are on the coroutine's own stack, above its first
//                     frame, and are destroyed with it.
#include <weft/detail/coroutine_core.hpp>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <new>
#include <system_error>
#include <type_traits>

#include "arch/context.hpp"
#include "arch/coroutine_slot.hpp"
#include "base/exiting.hpp"
#include "base/fork.hpp"
#include "base/never_destroyed.hpp"
#include "base/panic.hpp"
#include "fiber/frames.hpp"
#include "stack/stack_pool.hpp"

namespace weft::detail {

struct coroutine_core : coroutine_link {
    context self;
    void* input = nullptr;
    void* output = nullptr;
    std::exception_ptr failure;  // on its way to the caller
    coroutine_state state = coroutine_state::suspended;
    bool started = false;
    coroutine_body const* type = nullptr;  // null until there is a body
    void* body = nullptr;
    stack* home = nullptr;
    frames_aside frames;
};

static_assert(std::is_base_of_v<coroutine_link, coroutine_core> && !std::is_polymorphic_v<coroutine_core>,
              "link_of(): at its beginning");

namespace {

/// Thrown by the yield of a coroutine that is being destroyed. No other file can name it.
struct unwound {};

// chosen: a body of this size may come out of the requested stack size
constexpr std::size_t body_fits_anyway = 1024;

// Never destroyed, since a static coroutine may end later than a static pool would.
stack_pool& coroutine_stacks() {
    static never_destroyed<stack_pool> pool;
    return *pool;
}

// Runs before the stack map gives back its entries, of which each slab has one.
[[gnu::destructor(after_static_objects + 1)]] void give_back_idle_stacks() noexcept {
    if (library_is_closed()) coroutine_stacks().close_idle();
}

// Registered after the handlers of stack_map.cpp, whose lock is taken under the pool's. Those are
// registered at load, before static objects (FORK-1).
const bool follows_forks = [] {
    // not analysed: the pool's lock has no name here
    follow_forks({.before = []() WEFT_NO_THREAD_SAFETY_ANALYSIS { coroutine_stacks().lock(); },
                  .in_parent = []() WEFT_NO_THREAD_SAFETY_ANALYSIS { coroutine_stacks().unlock(); },
                  .in_child = []() WEFT_NO_THREAD_SAFETY_ANALYSIS { coroutine_stacks().unlock(); }});
    return true;
}();

void* below(void* top, std::size_t bytes, std::size_t alignment) noexcept {
    auto const address = reinterpret_cast<std::uintptr_t>(top) - bytes;
    return static_cast<std::byte*>(top) - bytes - address % alignment;
}

void run(void* argument) noexcept {
    auto& core = *static_cast<coroutine_core*>(argument);
    core.started = true;
    void* last = nullptr;
    try {
        last = core.type->run(core.body, core, core.input);
    } catch (unwound const&) {  // the destruction of the coroutine asked for this
    } catch (...) {
        core.failure = std::current_exception();
    }
    auto& slot = current_coroutine();
    require(!slot.shields || slot.shields->within != &core, "a coroutine ends within a shield of its own");
    require(!slot.deadlines || slot.deadlines->within != &core, "a coroutine ends within a deadline of its own");
    slot.innermost = core.outer;
    core.state = coroutine_state::done;
    core.output = last;
    jump_context(core.caller, &core);
}

void become_innermost(coroutine_core& core, coroutine_core* outer, coroutine_slot& slot) noexcept {
    core.outer = outer;
    slot.innermost = &core;
    core.state = coroutine_state::running;
}

void cease_innermost(coroutine_core& core, coroutine_slot& slot) noexcept {
    slot.innermost = core.outer;
    core.state = coroutine_state::suspended;
}

void require_callable(coroutine_core const& core) {
    if (core.state == coroutine_state::done) throw_coroutine_done();
    require(core.state == coroutine_state::suspended, "a running coroutine cannot be called");
}

/// Whether its call needs more than a switch: it may not be callable, or something is due.
bool takes_care_to_call(coroutine_core const& core) noexcept {
    static_assert(static_cast<unsigned>(coroutine_state::suspended) == 0, "one test for both");
    return (static_cast<unsigned>(core.state) | core.due) != 0;
}

[[gnu::noinline, gnu::cold]] void see_to_call(coroutine_core& core, coroutine_slot& slot) {
    require_callable(core);
    if ((core.due & due_frames) != 0) core.frames.bring_back(slot);
}

/// Called before the coroutine ceases to be the innermost. \returns `slot`, so that the caller need
/// not keep it across this call if nothing is due.
[[gnu::noinline, gnu::cold]] coroutine_slot* see_to_yield(coroutine_core& core, coroutine_slot* slot) {
    // also if its body has caught the first one
    if ((core.due & due_unwinding) != 0) throw unwound{};
    if (!core.frames.put_aside(*slot, core)) core.due &= ~due_frames;
    return slot;
}

/// Does see_to_yield(). \returns null for a destructor that yields while the body unwinds, since it
/// must not throw.
[[gnu::noinline, gnu::cold]] coroutine_slot* see_to_bare_yield(coroutine_core& core, coroutine_slot* slot) {
    if ((core.due & due_unwinding) != 0 && std::uncaught_exceptions() > 0) return nullptr;
    return see_to_yield(core, slot);
}

coroutine_core& innermost_of(coroutine_slot const& slot) noexcept {
    require(slot.innermost != nullptr, "yield() and transfer_to() are called inside a coroutine");
    return *slot.innermost;
}

}  // namespace

coroutine_ptr new_coroutine(coroutine_options options, std::size_t body_bytes, std::size_t body_alignment) {
    auto& pool = coroutine_stacks();
    std::size_t wanted = options.stack_bytes != 0 ? options.stack_bytes : pool.default_bytes();
    if (const auto more = body_bytes + body_alignment; more > body_fits_anyway) wanted = std::max(wanted, wanted + more);
    stack* const home = pool.take(wanted);
    if (home == nullptr)
        throw std::system_error(std::make_error_code(std::errc::not_enough_memory), "weft: stack of a coroutine");
    auto* const core = ::new (below(home->span.high, sizeof(coroutine_core), alignof(coroutine_core))) coroutine_core;
    core->home = home;
    core->body = below(core, body_bytes, std::max<std::size_t>(body_alignment, 16));
    return coroutine_ptr(core);
}

void* body_memory(coroutine_core& core) noexcept { return core.body; }

void adopt_body(coroutine_core& core, coroutine_body const& type) noexcept {
    core.type = &type;
    make_context(core.self, core.home->span, core.body, &run, &core);
}

void coroutine_deleter::operator()(coroutine_core* core) const noexcept {
    require(core->state != coroutine_state::running, "a coroutine is destroyed while it is running");
    unwind_coroutine(*core);
    if (core->type != nullptr) core->type->destroy(core->body);
    stack* const home = core->home;
    std::destroy_at(core);
    coroutine_stacks().give(home);
}

void unwind_coroutine(coroutine_core& core) noexcept {
    if (core.state != coroutine_state::suspended || !core.started) return;
    core.due |= due_unwinding;
    call_coroutine(core, nullptr);
}

// In these three functions nothing follows the switch, so that a call and a yield cost one
// predictable jump each and no return.

coroutine_core* enter_coroutine(coroutine_core& core, void* input) {
    auto& slot = current_coroutine();
    if (takes_care_to_call(core)) [[unlikely]]
        see_to_call(core, slot);
    become_innermost(core, slot.innermost, slot);
    core.input = input;
    return static_cast<coroutine_core*>(hop_context(core.caller, core.self, &core));
}

void leave_coroutine(coroutine_core& core, void* output) {
    auto* slot = &current_coroutine();
    require(slot->innermost == &core, "a coroutine yields only from its own stack");
    if (core.due != 0) [[unlikely]]
        slot = see_to_yield(core, slot);
    cease_innermost(core, *slot);
    core.output = output;
    hop_context(core.self, core.caller, &core);
}

coroutine_core* leave_innermost() {
    auto* slot = &current_coroutine();
    auto& core = innermost_of(*slot);
    if (core.due != 0) [[unlikely]] {
        slot = see_to_bare_yield(core, slot);
        if (slot == nullptr) return nullptr;
    }
    cease_innermost(core, *slot);
    core.output = nullptr;  // the output of its last yield is gone
    return static_cast<coroutine_core*>(hop_context(core.self, core.caller, &core));
}

void* take_output(coroutine_core& left) {
    if (left.failure) [[unlikely]]
        std::rethrow_exception(std::exchange(left.failure, nullptr));
    return left.output;
}

void* take_input(coroutine_core& core) {
    if ((core.due & due_unwinding) != 0) [[unlikely]]
        throw unwound{};
    return core.input;
}

void transfer_from_innermost(coroutine_core& other) {
    auto& slot = current_coroutine();
    auto& core = innermost_of(slot);
    if ((core.due & due_unwinding) != 0) throw unwound{};
    require_callable(other);
    if (core.due != 0) [[unlikely]]
        see_to_yield(core, &slot);
    cease_innermost(core, slot);
    if (other.due != 0) [[unlikely]]
        see_to_call(other, slot);
    become_innermost(other, core.outer, slot);
    other.caller = core.caller;  // COROUTINE_CORE-2
    hop_context(core.self, other.self, &other);
    take_input(core);
}

coroutine_state state_of(coroutine_core const& core) noexcept { return core.state; }

bool is_unwinding(coroutine_core const& core) noexcept { return (core.due & due_unwinding) != 0; }

void throw_coroutine_done() { throw coroutine_done(); }

void refuse_missing_output(coroutine_core const& core) {
    require(core.state == coroutine_state::done, "a coroutine that owes a value gives it by its yielder or by its return");
    throw_coroutine_done();
}

}  // namespace weft::detail

// control_block.hpp - what the runtime knows of one fiber.
//
// Invariants
//   C1  The memory is type-stable: it goes back to its pool, never to the system while the runtime lives. A late claim()
//       or a stale fiber_id therefore finds a control block, and fails on its ticket or generation.
//   C2  `references` counts the run (until the body has ended and its stack is free) and each handle. The last one to
//       leave destroys the task and gives the block back.
//   C3  ctx, link and home stack belong to whoever may run the fiber (see wait_word.hpp); the rest is said at each field.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <source_location>
#include <stop_token>
#include <string_view>

#include <weft/detail/task.hpp>

#include "arch/context.hpp"
#include "arch/coroutine_slot.hpp"
#include "base/spin_lock.hpp"
#include "fiber/waiter.hpp"

namespace weft::detail {

struct stack;
class scheduler;
struct control_block;

/// Where a fiber is, for dumps; derived by fiber_state(). Order of life.
enum class fiber_state : std::uint8_t { free, created, runnable, running, waiting, done };

/// Told of the end of a fiber: the scope it is a child of.
class end_observer {
public:
    /// The body has thrown; nobody can join yet. \returns whether its siblings are to be stopped.
    virtual bool child_failed(control_block&, const std::exception_ptr&) noexcept = 0;
    /// The body has ended and its joiners were woken; the fiber goes on for a moment, its body may be gone.
    virtual void child_ended(control_block&, bool stop_siblings) noexcept = 0;

protected:
    ~end_observer() = default;
};

struct alignas(64) control_block : wait_cell, list_hook<control_block> {
    explicit control_block(void (*ready)(wait_cell&) noexcept) noexcept : wait_cell(ready) {}

    // Belongs to whoever may run the fiber.
    context ctx;                         // saved while it is not running; sp is null until it has been started
    control_block* link = nullptr;       // next in the injector or in a free list
    stack* home = nullptr;               // the stack it runs on; null until started
    scheduler* owner = nullptr;          // set when the block is made, never changed
    coroutine_slot coroutines;           // the innermost coroutine running inside this fiber

    std::unique_ptr<task> body;          // set before start; destroyed by the last reference (C2)
    end_observer* parent = nullptr;      // set before start; may be gone after child_ended(). Its lock guards list_hook, `told`
    bool told = false;                   // the parent has handed its stop on
    std::size_t stack_bytes = 0;         // 0: the default, and then the fiber may begin on a worker's hot stack
    atomic<std::uint32_t> references{0};
    atomic<std::uint32_t> generation{0}; // counts the uses of this block; makes ids unique
    std::uint32_t index = 0;             // of this block among all of the process, fixed
    bool detached = false;               // nobody will join; under `lock`
    bool handle_gone = false;            // nobody will take the result; under `lock`
    atomic<bool> failure_taken{false};   // by join(): a scope need not rethrow it
    atomic<bool> done{false};            // the body has ended; its result is visible to who reads true (acquire)
    atomic<bool> stop_requested{false};  // by its handle; one count in `stops`
    atomic<fiber_state> phase{fiber_state::created};  // created, runnable or running: a hint for dumps

    spin_lock lock;                      // guards what follows
    wait_list joiners;
    std::unique_ptr<std::stop_source> stop_source;  // made on first use
    char name_text[48] = {};
    std::source_location site;

    std::string_view name() const noexcept { return {name_text, ::strnlen(name_text, sizeof name_text)}; }
    void set_name(std::string_view s) noexcept {
        name_text[s.copy(name_text, sizeof name_text - 1)] = '\0';
    }
    bool started() const noexcept { return ctx.sp != nullptr; }
};

fiber_state state_of(const control_block&) noexcept;
std::string_view name(fiber_state) noexcept;

}  // namespace weft::detail

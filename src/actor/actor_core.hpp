// actor_core.hpp - one actor: its lives, its end, and the references to it.
//
// What it does is defined by its program; its messages are handled by mailbox_core.
//
//  phase    meaning                                        leaves by
//  idle     has not begun, or waits for its supervisor     start -> running | end -> ending
//  running  a fiber runs one of its lives                  life_ended -> idle
//  ending   why_ is set; stored messages are being lost    end -> ended
//  ended    final; later askers are told why               -
//
// Invariants
//   ACTOR_CORE-1  The core lives as long as it is held: by the references together (one hold), by
//                 each of its fibers, by each link.
//   ACTOR_CORE-2  When the last reference is dropped, the doors close. A supervisor and the
//                 registry have references; fibers have none.
//   ACTOR_CORE-3  fiber_ is the fiber of the current life, from before it starts until
//                 life_ended(). Guarded by `lock_`.
//   ACTOR_CORE-4  Links, monitors, the supervisor and askers are told of an end without any lock
//                 held.
//   ACTOR_CORE-5  `asks` is written by the actor's own fiber, under one lock for all actors. The
//                 actor it points to is kept alive by that fiber's reference.
//   ACTOR_CORE-6  A link ends only the life in which it was taken out of the lists, and no later
//                 one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <weft/dead_letter.hpp>
#include <weft/detail/actor_core.hpp>
#include <weft/fiber.hpp>

#include "actor/linkable.hpp"
#include "actor/mailbox.hpp"
#include "base/atomic.hpp"
#include "base/spin_lock.hpp"

namespace weft::detail {

/// Is told of the end of a life; implemented for children of supervisors.
class actor_parent {
public:
    virtual void life_ended(exit_reason why) noexcept = 0;

protected:
    ~actor_parent() = default;
};

class actor_core final : public mailbox_core, public linkable {
public:
    actor_core(const actor_attributes&, std::unique_ptr<actor_program>);

    // References and holds (ACTOR_CORE-1, ACTOR_CORE-2).
    void refer() noexcept;
    void drop() noexcept;
    // The caller must have a hold or a reference.
    void hold() noexcept { holds_.fetch_add(1, relaxed); }
    void let_go() noexcept;

    // Lives.
    // Called before the first start().
    void set_parent(std::shared_ptr<actor_parent> p, std::chrono::nanoseconds time_to_stop) noexcept;
    /// \throws  what making a fiber throws
    void start(scheduler&);
    void stop() noexcept;
    void kill() noexcept;
    void end(exit_reason why) noexcept;
    /// The body of its fiber.
    void live() noexcept;

    /// Whether it has ended; all its stored messages are then dead letters.
    // pairs with end()
    bool has_ended() const noexcept override { return phase_.load(acquire) == phase::ended; }
    const exit_reason& why() const noexcept { return why_; }  // valid once it has ended
    [[noreturn]] void throw_gone() override;
    std::string_view name() const noexcept override { return name_; }
    std::shared_ptr<linkable> held() override;
    std::chrono::nanoseconds time_to_stop() const noexcept { return time_to_stop_; }
    const std::type_info& type() const noexcept { return type_; }

    // Messages; called on the actor's fiber.
    void serve(void* actor);
    std::unique_ptr<message>& taken() noexcept { return taken_; }
    void drop_taken() noexcept;
    void tell_failure(message& of_asker, const std::exception_ptr& failure) noexcept;

    std::uint64_t life() noexcept override;
    void linked_end(std::uint64_t life, std::string_view other, const exit_reason& why) noexcept override;

    // Guarded by the lock of relations.cpp.
    std::vector<channel_ref> monitors;
    std::string registered_as;

    actor_core* asks = nullptr;  // ACTOR_CORE-5

private:
    enum class phase : std::uint8_t { idle, running, ending, ended };

    ~actor_core() = default;  // destroyed by let_go()
    void lost(std::unique_ptr<message>, ask_end why) noexcept override;
    bool is_caller() const noexcept override;
    exit_reason run_program() noexcept;
    void life_ended(exit_reason why) noexcept;
    void report_if_unheard(const exit_reason& why, bool somebody_hears) noexcept;

    const std::string name_;
    // Used by its fiber, or by the code that ends the actor after that.
    std::unique_ptr<actor_program> program_;
    const std::type_info& type_;
    actor_program::exit_message* const on_linked_end_;
    std::shared_ptr<actor_parent> parent_;  // used as program_
    bool is_supervised_ = false;  // set before it begins
    std::chrono::nanoseconds time_to_stop_;
    const std::size_t stack_bytes_;
    const migrate move_;
    const bool preempt_;
    const priority_choice priority_;
    atomic<std::size_t> references_{1};
    atomic<std::size_t> holds_{1};
    atomic<phase> phase_{phase::idle};
    std::unique_ptr<message> taken_;
    bool failure_was_told_ = false;  // to the asker; used by its fiber only

    spin_lock lock_;
    fiber_ref fiber_ WEFT_GUARDED_BY(lock_);
    std::uint64_t life_ WEFT_GUARDED_BY(lock_) = 0;  // ACTOR_CORE-6
    std::exception_ptr link_failure_ WEFT_GUARDED_BY(lock_);
    exit_reason why_;  // written under `lock_`, once, before `phase_` says so
};

/// The actor whose fiber calls, or null.
actor_core* current_actor() noexcept;

/// Reports a message that will not be handled and whose sender does not wait.
WEFT_EXPORT void report_dead_letter(std::string_view actor, message& m, dead_letter::cause why) noexcept;

// Monitors, names: relations.cpp.

/// Tells the monitors that are still there, and unregisters the actor's name. \returns whether
/// there was a monitor.
bool tell_monitors(actor_core& a, const exit_reason& why) noexcept;

}  // namespace weft::detail

// actor_core.hpp - one actor: its lives, its end, and who refers to it. What it does is its program's, its messages are the mailbox'.
//
//  phase    meaning                                        leaves by
//  idle     has not begun, or waits for its supervisor     start -> running | end -> ending
//  running  a fiber lives one of its lives                 life_ended -> idle
//  ending   why_ is known; what is in the mailbox is lost  end -> ended
//  ended    for good: who asks is told why                 -
//
// Invariants
//   A1  The core lives as long as somebody holds it: the references together (one hold), each fiber of it, each link.
//   A2  With the last reference the doors close. A supervisor and the registry have references; fibers have not.
//   A3  fiber_ names the fiber of the life under way, from before it starts until life_ended(), under `lock_`.
//   A4  What others are told of an end (links, monitors, supervisor, those who ask) they are told without any lock.
//   A5  asks is written by the actor's own fiber, under one lock for all; what it names is held by that fiber's reference.
//   A6  A link ends a life, the one in which it was taken out of the lists, and no later one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <weft/dead_letter.hpp>
#include <weft/detail/actor_core.hpp>
#include <weft/fiber.hpp>

#include "actor/mailbox.hpp"
#include "base/atomic.hpp"
#include "base/spin_lock.hpp"

namespace weft::detail {

/// Told of the end of a life: a supervisor.
class actor_parent {
public:
    virtual void life_ended(exit_reason why) noexcept = 0;

protected:
    ~actor_parent() = default;
};

class actor_core final : public mailbox_core {
public:
    actor_core(const actor_attributes&, std::unique_ptr<actor_program>);

    // References and holds (A1, A2).
    void refer() noexcept;
    void drop() noexcept;
    void hold() noexcept { holds_.fetch_add(1, relaxed); }  // by who has a hold or a reference
    void let_go() noexcept;

    // Lives.
    /// Before the first start().
    void set_parent(std::shared_ptr<actor_parent> p, std::chrono::nanoseconds time_to_stop) noexcept;
    /// \throws  what making a fiber throws
    void start(scheduler&);
    void stop() noexcept;
    void kill() noexcept;
    void end(exit_reason why) noexcept;
    /// The body of its fiber.
    void live() noexcept;

    bool has_ended() const noexcept { return phase_.load(acquire) == phase::ended; }  // pairs with end(): all letters are dead
    const exit_reason& why() const noexcept { return why_; }  // once it has ended
    [[noreturn]] void throw_gone();
    std::string_view name() const noexcept { return name_; }
    std::chrono::nanoseconds time_to_stop() const noexcept { return time_to_stop_; }
    const std::type_info& type() const noexcept { return type_; }

    // Messages, of the actor's fiber.
    void serve(void* actor);
    std::unique_ptr<message>& taken() noexcept { return taken_; }
    void drop_taken() noexcept;
    void tell_failure(message& of_asker, const std::exception_ptr& failure) noexcept;

    /// Counts the lives; the one under way, or the last one.
    std::uint64_t life() noexcept;

    // Under the lock of relations.cpp.
    struct link {
        actor_core* other;
        std::uint64_t life = 0;  // of the other, in which the link ended
    };
    std::vector<link> links;
    std::vector<channel_ref> monitors;
    std::string registered_as;

    /// An actor it was linked with has ended, in the life of that number: a later one is not concerned.
    void linked_end(std::uint64_t life, std::string_view other, const exit_reason& why) noexcept;

    actor_core* asks = nullptr;  // A5

private:
    enum class phase : std::uint8_t { idle, running, ending, ended };

    ~actor_core() = default;  // by let_go()
    void lost(std::unique_ptr<message>, ask_end why) noexcept override;
    bool is_caller() const noexcept override;
    exit_reason run_program() noexcept;
    void life_ended(exit_reason why) noexcept;
    void report_if_unheard(const exit_reason& why, bool somebody_hears) noexcept;

    const std::string name_;
    std::unique_ptr<actor_program> program_;  // by its fiber, or by who ends it after that
    const std::type_info& type_;
    actor_program::exit_message* const on_linked_end_;
    std::shared_ptr<actor_parent> parent_;  // as program_
    bool is_supervised_ = false;  // before it begins
    std::chrono::nanoseconds time_to_stop_;
    const std::size_t stack_bytes_;
    const migrate move_;
    atomic<std::size_t> references_{1};
    atomic<std::size_t> holds_{1};
    atomic<phase> phase_{phase::idle};
    std::unique_ptr<message> taken_;
    bool failure_was_told_ = false;  // to who asked; its fiber only

    spin_lock lock_;
    fiber_ref fiber_;
    std::uint64_t life_ = 0;  // A6; under `lock_`
    std::exception_ptr link_failure_;
    exit_reason why_;
};

/// The actor whose fiber calls, or null.
actor_core* current_actor() noexcept;

/// A message nobody will handle and nobody is told of.
void report_dead_letter(std::string_view actor, message& m, dead_letter::cause why) noexcept;

// Links, monitors, names: relations.cpp.

/// Ends all links of `a` and tells the others.
void break_links(actor_core& a, const exit_reason& why) noexcept;
/// Tells the monitors that are still there, and gives its name up. \returns whether there were any.
bool tell_monitors(actor_core& a, const exit_reason& why) noexcept;

}  // namespace weft::detail

// simulator.hpp - who runs next in a simulated runtime, and what time it is there: the one place of all its choices.
//
// The worker of a simulated runtime always comes to pick_by_class()'s and poll_if_due()'s cold halves (K7 of worker.hpp), and from there
// here; so nothing else is slower for it. All that has become ready is gathered from the worker's queues in the order in which it did, and
// of these one is drawn. Draws come from choose(), whose generator belongs to the carrier's thread and begins with the seed.
//
// Invariants
//   G1  Everything but what is said to be for any thread is used by the carrier's thread alone. There is one: nobody is bound, demoted or
//       handed off, and without a time slice there is no monitor.
//   G2  The world moves only while run() is under way, or since somebody outside has made a fiber ready, or while the runtime ends. It
//       stands still from the moment at which the main fiber of run() is found ended, or the run has failed: so what a seed does until
//       then does not depend on when the thread outside looks.
//   G3  Whoever changes what the sleeping worker looks at wakes it afterwards; a wake-up is never lost (parker.hpp, P1).
//   G4  A choice depends on the seed and on earlier choices. So nothing here goes by an address, by a real clock, or by the number of a
//       control block, of which another run in the same process gets another.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include <weft/simulation.hpp>

#include "base/atomic.hpp"
#include "base/spin_lock.hpp"
#include "fiber/waiter.hpp"
#include "sched/worker.hpp"

namespace weft::detail {

class simulator {
public:
    explicit simulator(scheduler& owner, const simulation& options);
    ~simulator();
    simulator(const simulator&) = delete;
    simulator& operator=(const simulator&) = delete;

    // The carrier's thread:

    /// Before its first fiber.
    void begin_thread() noexcept;
    /// A fiber that is about to begin.
    void begin(control_block& f) noexcept;
    /// Inside a visit: the next to run, or null.
    control_block* pick(worker& w) noexcept;
    /// Outside: the same, and time passes until there is one. Null: the scheduler stops.
    control_block* find_work(worker& w) noexcept;
    /// Whether the calling fiber is to let others go first, though it need not wait.
    bool is_switch() noexcept;
    time_point now() const noexcept { return now_; }
    /// Waits until no other fiber can go on by itself.
    ///
    /// \returns whether there is none left. \parks
    bool come_to_rest() noexcept;
    /// What lives and is not the caller, in words.
    std::string others();

    // Any thread:

    struct summary {
        std::uint64_t trace = 0;  // of all choices
        std::uint64_t steps = 0;
        duration time{};
    };
    /// From the beginning to the end of the last run.
    summary last_run() noexcept;
    const simulation& options() const noexcept { return options_; }
    /// The world stands still until begin_run() or end().
    void hold() noexcept { held_.store(true, seq_cst); }
    /// After hold(): `main` was started, and the world moves until it has ended.
    void begin_run(control_block& main) noexcept;
    /// Waits for that. False: the run has failed. \parks
    bool await_run() noexcept;
    /// After that.
    simulation_failed failure() const { return {why_, options_.seed, what_}; }
    /// After hold() and request_stop_of_all(): the world moves until nobody lives, or nobody can go on.
    void end() noexcept;
    /// Fibers are left that cannot go on, nor be stopped.
    bool has_given_up() const noexcept { return given_up_.load(acquire); }  // pairs with give_up()
    /// A fiber was made ready from outside.
    void note_outsider() noexcept;

private:
    using kind = simulation_failed::kind;
    enum class phase : std::uint8_t { still, moving, ending };

    bool moves() const noexcept {
        return phase_.load(acquire) != phase::still && !held_.load(acquire);
    }  // pairs with begin_run(), end()
    void go(phase p) noexcept;
    void gather(worker& w);
    bool pass_time(worker& w);
    void count_step(std::uint64_t what) noexcept;
    bool is_over();
    void fail(kind why, const char* what) noexcept;
    void report_failure();
    void extend_for_end() noexcept;
    void stand_still() noexcept;
    void mix(std::uint64_t x) noexcept { trace_ = (trace_ ^ x) * 0x9e37'79b9'7f4a'7c15 + (trace_ >> 29); }
    std::string describe(const char* what, const control_block* but = nullptr);  // outside of visits

    scheduler& owner_;
    const simulation options_;
    time_point now_;
    std::uint32_t one_in_ = 1;
    std::uint64_t steps_ = 0, most_steps_;
    std::uint64_t trace_ = 0;
    std::vector<control_block*> ready_;
    std::unordered_map<const control_block*, std::uint64_t> numbers_;  // in the order in which they began
    std::uint64_t begun_ = 0;
    const char* failing_ = nullptr;  // why, until report_failure()
    bool is_ending_ = false;
    wait_list resting_;  // come_to_rest()
    atomic<phase> phase_{phase::still};
    atomic<bool> held_{false}, given_up_{false};
    atomic<control_block*> main_{nullptr};  // of the run under way

    spin_lock lock_;
    bool run_is_over_ = false;  // under lock_, as what follows
    bool has_failed_ = false;
    summary last_;
    wait_list outside_;  // await_run()
    kind why_ = kind::deadlock;
    std::string what_;
};

/// Of the calling fiber's runtime; null if that is not simulated, or the caller no fiber.
simulator* simulator_here() noexcept;

}  // namespace weft::detail

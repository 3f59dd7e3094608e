// simulator.hpp - which fiber runs next in a simulated runtime, and what time it is there.
//
// All choices of a simulated runtime are made here. Its worker always takes the cold halves of
// pick() and poll_if_due() (WORKER-3), and from there comes here; so nothing else is slower
// for it. The fibers that have become ready are gathered from the worker's queues in the order in
// which they became ready, and one of them is drawn. Draws come from choose(), whose generator
// belongs to the carrier's thread and begins with the seed.
//
// Invariants
//   SIMULATOR-1  Only the carrier's thread uses the members here, except those marked for any
//                thread. There is one carrier: no fiber is pinned, demoted or handed off, and
//                without a time slice there is no monitor.
//   SIMULATOR-2  The world moves only while run() is under way, or after a thread outside has made
//                a fiber ready, or while the runtime ends. It stands still from the moment at which
//                the main fiber of run() is found ended, or the run has failed. So what a seed does
//                until then does not depend on when the thread outside looks.
//   SIMULATOR-3  A thread that changes what the sleeping worker looks at wakes it afterwards; a
//                wake-up is never lost (PARKER-1).
//   SIMULATOR-4  A choice depends on the seed and on earlier choices. So nothing here depends on an
//                address, on a real clock, or on the number of a control block, since another run
//                in the same process gets other blocks.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include <weft/detail/export.hpp>
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

    // To be called on the carrier's thread:

    /// Called before the thread's first fiber.
    void begin_thread() noexcept;
    /// Called when a fiber is about to begin.
    void begin(control_block& f) noexcept;
    /// Inside a visit: \returns the next fiber to run, or null.
    control_block* pick(worker& w) noexcept;
    /// Outside a visit: lets time pass until there is a fiber to run, and returns it. Null: the
    /// scheduler stops.
    control_block* find_work(worker& w) noexcept;
    /// Draws whether the calling fiber must let others go first, though it need not wait.
    bool is_switch() noexcept;
    time_point now() const noexcept { return now_; }
    /// Waits until no other fiber can go on by itself: explore() calls it when a body has returned.
    ///
    /// \returns whether no other fiber is left.
    /// \parks
    bool come_to_rest() noexcept;
    /// \returns a text about the living fibers except the caller.
    std::string others();

    // Any thread:

    struct summary {
        std::uint64_t trace = 0;  // of all choices
        std::uint64_t steps = 0;
        duration time{};
    };
    /// \returns what happened from the beginning to the end of the last run.
    summary last_run() noexcept;
    const simulation& options() const noexcept { return options_; }
    /// Makes the world stand still until begin_run() or end().
    // pairs with moves() and note_outsider()
    void freeze() noexcept { frozen_.store(true, seq_cst); }
    /// Called after freeze(), when `main` was started: the world moves until `main` has ended.
    void begin_run(control_block& main) noexcept;
    /// Waits for the end of the run. False: the run has failed. \parks
    bool await_run() noexcept;
    /// \returns why the run failed. Called after await_run() has returned false.
    simulation_failed failure() const { return {why_, options_.seed, what_}; }
    /// Called after freeze() and request_stop_of_all(): the world moves until no fiber lives, or
    /// none can go on.
    void end() noexcept;
    /// Whether fibers are left that can neither go on nor be stopped. Pairs with stand_still().
    bool has_given_up() const noexcept { return given_up_.load(acquire); }
    /// Called when a fiber was made ready from outside.
    void note_outsider() noexcept;

private:
    using kind = simulation_failed::kind;
    enum class phase : std::uint8_t { still, moving, ending };

    // Pairs with begin_run() and end().
    bool moves() const noexcept { return phase_.load(acquire) != phase::still && !frozen_.load(acquire); }
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
    // Must not be called inside a visit.
    std::string describe(const char* what, const control_block* but = nullptr);

    scheduler& owner_;
    const simulation options_;
    time_point now_;
    std::uint32_t one_in_ = 1;
    std::uint64_t steps_ = 0, most_steps_;
    std::uint64_t trace_ = 0;
    std::vector<control_block*> ready_;
    // The fibers' numbers, in the order in which they began.
    std::unordered_map<const control_block*, std::uint64_t> numbers_;
    std::uint64_t begun_ = 0;
    const char* failing_ = nullptr;  // why the run fails, until report_failure()
    bool is_ending_ = false;
    wait_list resting_;  // fibers in come_to_rest()
    atomic<phase> phase_{phase::still};
    atomic<bool> frozen_{false}, given_up_{false};
    atomic<control_block*> main_{nullptr};  // of the run under way

    spin_lock lock_;
    bool run_is_over_ WEFT_GUARDED_BY(lock_) = false;
    bool has_failed_ WEFT_GUARDED_BY(lock_) = false;
    summary last_ WEFT_GUARDED_BY(lock_);
    wait_list outside_ WEFT_GUARDED_BY(lock_);  // fibers and threads in await_run()
    // written before the run is over, and not changed after has_failed_ was set
    kind why_ = kind::deadlock;
    std::string what_;
};

/// \returns the simulator of the calling fiber's runtime; null if that is not simulated, or the
/// caller is not a fiber.
WEFT_EXPORT simulator* simulator_here() noexcept;

}  // namespace weft::detail

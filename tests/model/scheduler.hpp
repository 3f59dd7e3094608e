// scheduler.hpp - which modelled thread takes the next step, and why none can.
//
// Rules
//   MODEL_SCHEDULER-1  A thread stops before each step that others could notice, says which step it
//                      is, and takes it when chosen.
//   MODEL_SCHEDULER-2  Leaving a thread that could go on is a preemption; a run has at most
//                      `preemptions` of them. Leaving one that sleeps, spins or has ended is free.
//   MODEL_SCHEDULER-3  With unlimited preemptions, of two independent steps only one order is run
//                      (sleep sets). With a bound this would lose runs, since the order that is
//                      kept may need more preemptions than the one that is dropped.
//   MODEL_SCHEDULER-4  A thread in cpu_relax() goes on only when something that it read since its
//                      last one has a newer store. If all that is left are such threads, or
//                      sleepers nobody will wake, the run has failed.
//   MODEL_SCHEDULER-5  The deadline of a sleeper may pass at any time, `timeouts` times per run;
//                      after that only when nobody else can take a step, as real time would then
//                      pass.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/choices.hpp"
#include "model/clocks.hpp"
#include "model/coroutine.hpp"
#include "model/step.hpp"

namespace model {

class scheduler {
public:
    struct limits {
        unsigned preemptions;
        unsigned steps;
        unsigned spurious;  ///< wake-ups of a futex without reason, per run
        unsigned timeouts;
    };
    static constexpr unsigned unlimited = ~0U;

    scheduler(choices& c, const limits& l) : choices_(c), limits_(l) {}

    void restart();

    /// \returns the number of the new thread; it begins with the next run_all().
    thread_id add(std::function<void()> body);

    /// Runs all threads to their end, or until fail().
    void run_all();

    [[nodiscard]] thread_id threads() const noexcept { return static_cast<thread_id>(count_ - 1); }  ///< added so far
    [[nodiscard]] thread_id self() const noexcept { return self_; }
    [[nodiscard]] bool inside() const noexcept { return self_ != 0; }

    /// The scheduling point in front of a step (MODEL_SCHEDULER-1).
    void before(const step& s);

    void looked_at(history& h);  ///< for MODEL_SCHEDULER-4
    void relax();                ///< MODEL_SCHEDULER-4

    enum class wake_reason : std::uint8_t { woken, spurious, timed_out };
    wake_reason sleep(const void* address, bool has_deadline);
    [[nodiscard]] std::vector<thread_id> sleepers(const void* address) const;
    void wake(thread_id t);
    [[nodiscard]] bool slept_until_deadline() const noexcept {
        return threads_[self_].reason == wake_reason::timed_out;
    }

    /// Gives up this run. From a modelled thread this does not return: the thread is abandoned where it stands, since
    /// the code under test is noexcept and cannot be unwound.
    void fail(std::string why);
    [[nodiscard]] const std::string& failure() const noexcept { return failure_; }

    [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }
    [[nodiscard]] bool bound_hid_runs() const noexcept { return bound_hid_runs_; }
    /// equal to an earlier run (MODEL_SCHEDULER-3)
    [[nodiscard]] bool redundant() const noexcept { return redundant_; }

private:
    enum class state : std::uint8_t { ready, yielding, spinning, asleep, done };

    struct thread {
        coroutine stack;
        std::function<void()> body;
        state now = state::done;
        step next;
        std::vector<history*> looked;  // since the last relax()
        const void* address = nullptr;
        bool has_deadline = false;
        wake_reason reason = wake_reason::woken;
    };

    static void run_body();
    void go_on();  // to the next thread, which may be this one
    [[nodiscard]] thread_id pick();
    [[nodiscard]] bool can_go_on(thread_id t, unsigned timeouts, unsigned spurious) const;
    [[nodiscard]] std::vector<thread_id>& runnable();
    [[nodiscard]] thread_id choose_from(std::vector<thread_id>& options);
    void end_own_sleep(thread& t);
    [[nodiscard]] std::string why_stuck() const;
    void switch_to(thread_id t, coroutine::then self_then);

    choices& choices_;
    limits limits_;
    coroutine os_thread_;
    std::array<thread, max_threads> threads_;
    thread_id count_ = 1;
    thread_id self_ = 0;
    bool prologue_ = false;  // threads run to their first step, one after the other
    unsigned preemptions_ = 0;
    unsigned steps_here_ = 0;
    unsigned spurious_left_ = 0;
    unsigned timeouts_left_ = 0;
    unsigned sleep_set_ = 0;  // bit t: t's next step was explored here first and nothing since depends on it
    std::vector<thread_id> options_;
    std::uint64_t steps_ = 0;
    bool bound_hid_runs_ = false;
    bool redundant_ = false;
    std::string failure_;
};

}  // namespace model

// model.hpp - what a model test writes: a body with a few threads, run under every schedule and every value that the
// memory model lets its atomics return.
//
//   const model::result r = model::explore({.preemptions = 3}, [](model::execution& x) {
//       detail::atomic<int> flag{0};                  // shared state lives in the body: each run starts afresh
//       x.thread([&] { flag.store(1, release); });
//       x.thread([&] { ... model::check(cond, "why it must hold"); });
//       x.join_all();                                 // threads run here and nowhere else
//       model::check(...);                            // the body is ordered before and after them
//   });
//   EXPECT_TRUE(r.ok) << r.report;
//
// What threads share must be `atomic` or `plain`; anything else the checker cannot see. Loops that wait must call
// cpu_relax() or thread_yield(), or sleep on a futex, or they count as livelock. What is not explored: memory.hpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace model {

class execution;

inline constexpr unsigned unlimited = ~0U;

enum class operation_kind : std::uint8_t { load, store, modify, exchange, failed_exchange, fence, heavy_fence };

/// One operation as the code under test asks for it, for options::weaken.
struct operation {
    operation_kind kind;
    unsigned location;  ///< atomics are numbered as they are constructed in a run, from 0; a fence has none
    unsigned thread;    ///< threads are numbered as they are added, from 1
    std::memory_order order;

    [[nodiscard]] bool is(operation_kind k, unsigned at) const noexcept { return kind == k && location == at; }
};

struct options {
    unsigned preemptions = 3;  ///< per run; with `unlimited`, equivalent schedules are run once
    unsigned reorderings = unlimited;  ///< loads per run of other than the newest value, stores to before the newest
    std::uint64_t max_executions = 2'000'000;
    unsigned max_steps = 1'000;   ///< of one run; more is reported as livelock
    unsigned spurious = 0;        ///< failures of compare_exchange_weak, and wake-ups of futexes, without reason per run
    unsigned timeouts = 1;        ///< deadlines per run that pass although somebody could still take a step
    std::string replay = {};      ///< one run only: the path a report has named
    /// Mutation: the order that takes effect instead. A fence made relaxed is a fence removed; of
    /// a heavy one, `heavy_fence` is the part that concerns the other threads.
    std::function<std::memory_order(const operation&)> weaken = {};
    std::string_view mutant = {};  ///< Mutation: the change of mutants.cmake that is in force; none if empty
};

struct result {
    bool ok = true;
    bool complete = true;         ///< every run within the bounds was made
    bool bounded = false;         ///< the bound on preemptions or on reorderings has hidden runs
    std::uint64_t executions = 0; ///< distinct ones
    std::uint64_t steps = 0;
    std::string report;           ///< of the failed run, or of a replayed one
};

[[nodiscard]] result explore(const options& o, const std::function<void(execution&)>& body);

/// Fails the run unless `holds`.
void check(bool holds, std::string_view why);

/// \returns whether the calling thread's last sleep on a futex was ended by its deadline. With options::timeouts = 0 that
/// means: nobody else could take a step any more.
[[nodiscard]] bool slept_until_deadline();

/// Gives the atomic a name in reports.
template <class Atomic>
void name(const Atomic& a, std::string_view n);

}  // namespace model

#include "model/execution.hpp"

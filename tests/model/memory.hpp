// memory.hpp - the rules of [intro.races] and [atomics.order]: what each operation may read and what it then knows.
//
// Rules
//   MEMORY-1  A load may return any store at or above its floor (history.hpp). Which one is a
//             choice, the newest first.
//   MEMORY-2  A store may go behind any store at or above its floor that no read-modify-write has
//             claimed (HISTORY-2). The same holds for the store of a read-modify-write, which goes
//             directly behind the store it read.
//   MEMORY-3  Reading a store joins what it published: at once with acquire, at the next acquire
//             fence otherwise. A store publishes all its thread knows with release, or what it knew
//             at its last release fence otherwise. A read-modify-write also passes on what the
//             store it read had published (release sequence, C++20).
//   MEMORY-4  S, the order of seq_cst operations and fences, is the order in which the schedule
//             runs them.
//
// Not explored, because operations run in schedule order and S is that order (MEMORY-4):
//   - load buffering: a load that returns a store which runs later. C++20 allows r1 == r2 == 1 in
//     { r1 = y; x = 1 } || { r2 = x; y = 1 } with relaxed operations. No run here shows it, nor values out of thin air.
//   - an S that contradicts happens-before; C++20 allows it where seq_cst and weaker operations meet on one location.
//   A protocol that fails only in such runs passes here. Everything that is reported is a run that C++20 allows.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <vector>

#include "model/choices.hpp"
#include "model/clocks.hpp"
#include "model/history.hpp"

namespace model {

/// What an atomic operation did, for its caller and for the trace.
struct outcome {
    std::uint64_t read = 0;     ///< the value found
    std::uint64_t written = 0;  ///< meaningful if stored
    unsigned place = 0;         ///< of the store read or, if stored, written
    unsigned size = 0;          ///< of the modification order, so place + 1 == size is the newest
    bool stored = false;
};

/// The accesses of a variable that is not atomic.
struct plain_record {
    thread_id writer = 0;
    moment written = 0;
    clock read;
};

class memory {
public:
    using modify = std::uint64_t (*)(std::uint64_t old, std::uint64_t operand);

    struct limits {
        unsigned spurious;     ///< how often compare_exchange_weak may fail without reason
        /// how often MEMORY-1 and MEMORY-2 may choose another than the newest place
        unsigned reorderings;
    };

    memory(choices& c, const limits& l) : choices_(c), limits_(l) {}

    void restart();
    void fork(thread_id parent, thread_id child);
    void join(thread_id parent, thread_id child);

    history& create(thread_id t, std::uint64_t initial);  ///< the initialisation by t, a plain write
    history& create_before_all(std::uint64_t initial);    ///< one that happens before everything
    [[nodiscard]] history& location(unsigned number) noexcept { return locations_[number]; }

    outcome load(thread_id t, history& h, std::memory_order order);
    outcome store(thread_id t, history& h, std::uint64_t value, std::memory_order order);
    outcome read_modify_write(thread_id t, history& h, modify f, std::uint64_t operand, std::memory_order order);

    struct exchange {
        std::uint64_t expected, desired;
        std::memory_order success, failure;
        bool weak;
    };
    outcome compare_exchange(thread_id t, history& h, const exchange& x);
    void fence(thread_id t, std::memory_order order);

    /// The kernel's look at a futex word: a relaxed load that also respects what `also` has published.
    outcome kernel_load(thread_id t, history& h, const view& also);

    unsigned create_plain(thread_id t);
    unsigned create_plain_before_all();
    void plain_read(thread_id t, unsigned number);
    void plain_write(thread_id t, unsigned number);

    void destroy(thread_id t, const history& h);
    void destroy_plain(thread_id t, unsigned number);

    [[nodiscard]] const view& knowledge(thread_id t) const noexcept { return threads_[t].now; }

    /// \returns why the last operations were undefined behaviour, or nullptr.
    [[nodiscard]] const char* fault() const noexcept { return fault_; }

    [[nodiscard]] bool bound_hid_runs() const noexcept { return bound_hid_runs_; }

private:
    struct thread {
        view now;
        // published by stores read without acquire: an acquire fence takes it (MEMORY-3)
        view acquirable;
        // what was known at the last release fence: stores without release publish it (MEMORY-3)
        view released;
    };

    history& restart_location(const store_record& initial);
    moment tick(thread_id t) noexcept { return ++threads_[t].now.before[t]; }
    moment sc_moment(std::memory_order order) noexcept;
    void require_initialised(thread_id t, const history& h) noexcept;
    [[nodiscard]] unsigned floor(thread_id t, const history& h, std::memory_order order) const noexcept;
    outcome finish_load(thread_id t, history& h, unsigned place, std::memory_order order);
    outcome finish_modify(thread_id t, history& h, unsigned place, std::uint64_t value, std::memory_order order);
    [[nodiscard]] unsigned choose_place_to_load(const history& h, unsigned floor);
    [[nodiscard]] unsigned choose_place_for_store(const history& h, unsigned floor);
    [[nodiscard]] unsigned choose_candidate(unsigned newest, unsigned scale);

    choices& choices_;
    limits limits_;
    std::array<thread, max_threads> threads_;
    std::deque<history> locations_;  // kept over runs for their capacity; a deque, since threads hold references
    unsigned used_ = 0;
    std::vector<plain_record> plains_;
    clock all_fenced_;  // happens before some seq_cst fence
    moment sc_now_ = 0;
    unsigned spurious_left_ = 0;
    unsigned reorderings_left_ = 0;
    bool bound_hid_runs_ = false;
    std::vector<unsigned> candidates_;
    const char* fault_ = nullptr;
};

}  // namespace model

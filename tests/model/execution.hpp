// execution.hpp - one run: the place where the modelled atomics, the memory rules and the scheduler meet.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string_view>
#include <unordered_map>

#include "model/memory.hpp"
#include "model/model.hpp"
#include "model/scheduler.hpp"
#include "model/trace.hpp"

namespace model {

/// What a modelled variable keeps of itself: in which run it was last used and its number there.
struct identity {
    std::uint32_t run = 0;
    unsigned number = 0;
};

class execution {
public:
    execution(choices& c, const options& o);
    execution(const execution&) = delete;
    execution& operator=(const execution&) = delete;

    /// Adds a thread; it runs in join_all(). At most four per run.
    void thread(std::function<void()> body);
    void join_all();

    // For the modelled types.
    void born(identity& id, std::uint64_t initial);
    history& locate(identity& id, std::uint64_t initial);
    void gone(const identity& id);
    std::uint64_t load(history& h, std::memory_order order);
    void store(history& h, std::uint64_t value, std::memory_order order);
    std::uint64_t modify(history& h, const char* what, memory::modify f, std::uint64_t operand, std::memory_order order);
    outcome compare_exchange(history& h, memory::exchange x);
    void fence(std::memory_order order);
    void heavy_fence();
    void relax();

    void plain_born(identity& id);
    void plain_read(identity& id);
    void plain_write(identity& id);
    void plain_gone(identity& id);

    enum class futex { woken, timed_out, changed };
    futex futex_wait(const void* address, history& h, std::uint64_t expected, bool has_deadline);
    int futex_wake(const void* address, int n);

    /// A number below n, each in one run or another.
    unsigned choose(unsigned n) { return choices_.choose(n); }
    [[nodiscard]] bool has_mutant(std::string_view name) const noexcept { return mutant_ == name; }

    // For explore() and check().
    void restart();
    void fail(std::string_view why) { scheduler_.fail(std::string(why)); }
    void name(unsigned location, std::string_view n) { trace_.name(location, n); }
    [[nodiscard]] bool failed() const noexcept { return !scheduler_.failure().empty(); }
    [[nodiscard]] const scheduler& schedule() const noexcept { return scheduler_; }
    [[nodiscard]] bool bound_hid_runs() const noexcept {
        return scheduler_.bound_hid_runs() || memory_.bound_hid_runs();
    }
    [[nodiscard]] std::string report() const;

    /// The run in progress. A modelled variable used outside of one stops the program.
    static execution& running();
    static execution* running_or_null() noexcept { return running_; }

private:
    friend struct running_scope;

    void point(access kind, const history* where, std::memory_order order);
    void done(const char* what, const history* h, std::memory_order order, const outcome& r);
    unsigned plain_number(identity& id);
    void note(const char* what);
    void judge();
    std::memory_order effective(operation_kind kind, const history* h, std::memory_order order) const;

    choices& choices_;
    memory memory_;
    scheduler scheduler_;
    trace trace_;
    std::function<std::memory_order(const operation&)> weaken_;
    std::string_view mutant_;
    std::uint32_t run_ = 0;
    std::uint32_t joined_ = 0;
    thread_id added_ = 0;
    std::unordered_map<const void*, view> buckets_;  // by futex address: what wakers have published to the kernel

    static inline execution* running_ = nullptr;
};

/// Makes an execution the running one.
struct running_scope {
    explicit running_scope(execution& x) noexcept { execution::running_ = &x; }
    ~running_scope() { execution::running_ = nullptr; }
    running_scope(const running_scope&) = delete;
    running_scope& operator=(const running_scope&) = delete;
};

/// Thrown out of join_all() when the run has failed, to end the body.
struct abandoned {};

template <class Atomic>
void name(const Atomic& a, std::string_view n) {
    execution::running().name(a.model_location().number(), n);
}

}  // namespace model

// blocking.cpp - weft::blocking(): waited calls in the caller's frame, detached ones on the heap.
#include <weft/blocking.hpp>

#include <weft/detail/annotated_locks.hpp>

#include <system_error>
#include <thread>

#include "io/blocking_calls.hpp"
#include "io/blocking_pool.hpp"
#include "io/current.hpp"
#include "sched/simulate/simulator.hpp"
#include "sched/wait/wait_on.hpp"

namespace weft::detail {
namespace {

constexpr wait_kind blocking_wait{.name = "blocking call", .ends = ended_by::outside};

/// A call whose caller waits; it lives in the caller's frame.
class waited_call final : public blocking_job {
public:
    explicit waited_call(task& t) noexcept : task_(t) {}
    ~waited_call() = default;

    void run() noexcept override {
        task_.run();
        end(ending::returned);
    }
    void refuse() noexcept override { end(ending::refused); }

    /// \parks    until the call has ended.
    /// \returns  notified; timed_out if `until` has passed; or why the wait was interrupted.
    wait_end wait_for_end(const wait_kind& kind, const void* object, interruptible may_stop, time_point until = never) noexcept {
        for (;;) {
            lock_.lock();
            if (ending_ != ending::none) {
                lock_.unlock();
                return wait_end::notified;
            }
            const wait_end how =
                wait_on(lock_, waiters_, {.kind = kind, .object = object, .deadline = until, .may_stop = may_stop});
            if (how != wait_end::notified) return how;
        }
    }

    /// Called after wait_for_end().
    // Not analysed: nothing is written any more.
    bool refused() const noexcept WEFT_NO_THREAD_SAFETY_ANALYSIS { return ending_ == ending::refused; }

private:
    enum class ending : std::uint8_t { none, returned, refused };

    void end(ending how) noexcept {
        waiter* w = nullptr;
        {
            const lock_guard guard(lock_);
            ending_ = how;
            w = waiters_.claim_front();
        }  // from here on this object may be gone
        if (w) w->unpark();
    }

    task& task_;
    spin_lock lock_;
    ending ending_ WEFT_GUARDED_BY(lock_) = ending::none;
    wait_list waiters_ WEFT_GUARDED_BY(lock_);
};

/// A call whose caller does not wait.
class detached_call final : public blocking_job {
public:
    explicit detached_call(std::unique_ptr<task> t) noexcept : task_(std::move(t)) {}
    ~detached_call() = default;

    void run() noexcept override {
        task_->run();
        // Thrown out of a noexcept function, so it terminates the program.
        if (task_->failure()) std::rethrow_exception(task_->failure());
        delete this;
    }
    void refuse() noexcept override { delete this; }

private:
    std::unique_ptr<task> task_;
};

}  // namespace

void run_blocking(task& call, std::stop_source* stop) { run_blocking_in(pool_for::calls, call, stop); }

call_end run_blocking_to_its_end(pool_for what, task& call, std::stop_source* stop, const call_wait* shown) {
    auto* const pool = current_blocking_pool(what);
    if (!pool) {
        call.run();
        return call_end::returned;
    }
    waited_call job(call);
    const bool was_queued = pool->submit(job) == blocking_pool::submitted::queued;
    const call_wait usual{.kind = blocking_wait, .after_interrupt = blocking_wait, .object = &job};
    const auto& [kind, after_interrupt, object] = shown ? *shown : usual;
    auto how = job.wait_for_end(kind, object, interruptible::yes, was_queued ? deadline_after(pool->notice_after()) : never);
    if (how == wait_end::timed_out) {
        pool->notice_delay(job);
        how = job.wait_for_end(kind, object, interruptible::yes);
    }
    if (how == wait_end::notified) return job.refused() ? call_end::refused : call_end::returned;
    if (pool->withdraw(job)) return call_end::withdrawn;
    if (stop) stop->request_stop();
    (void)job.wait_for_end(after_interrupt, object, interruptible::no);
    return job.refused() ? call_end::refused : call_end::returned_interrupted;
}

void run_blocking_in(pool_for what, task& call, std::stop_source* stop) {
    check_interrupt();
    switch (run_blocking_to_its_end(what, call, stop)) {
        case call_end::returned: return;
        case call_end::refused:
            check_interrupt();
            throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again),
                                    "weft: no thread for a blocking call");
        case call_end::withdrawn:
        case call_end::returned_interrupted: break;
    }
    check_interrupt();
    throw cancelled();
}

void run_blocking_detached(std::unique_ptr<task> call) { run_blocking_detached_in(pool_for::calls, std::move(call)); }

void run_blocking_detached_in(pool_for what, std::unique_ptr<task> call) {
    auto job = std::make_unique<detached_call>(std::move(call));
    if (auto* const pool = current_blocking_pool(what)) {
        static_cast<void>(pool->submit(*job));
        (void)job.release();
        return;
    }
    if (simulator_here()) return job.release()->run();
    std::thread([&job = *job] { job.run(); }).detach();
    (void)job.release();
}

}  // namespace weft::detail

// scheduler.cpp - the scheduler of weft/c_scheduler.h: coroutines in chunks, run until none is left.
#include <weft/c_scheduler.h>

#include <weft/detail/annotated_locks.hpp>
#include <weft/detail/countdown.hpp>
#include <weft/event.hpp>
#include <weft/runtime.hpp>
#include <weft/stop.hpp>

#include <chrono>
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <source_location>
#include <span>
#include <utility>
#include <vector>

#include "base/atomic.hpp"
#include "base/panic.hpp"
#include "base/spin_lock.hpp"
#include "capi/handles.hpp"
#include "capi/status.hpp"
#include "sched/own_stack.hpp"

struct weft_coro {
    std::uint64_t fiber;
    std::jmp_buf begin;  // where WEFT_FINISHED goes
};

namespace weft::capi {
namespace {

struct coroutine {
    weft_coro_function f;
    void* arg;
};

/// Coroutines that wait for a run, in chunks (seed_L11), which are used again for the next batch.
class coroutine_batch {
public:
    void push(coroutine c) {
        if (next_ == end_) [[unlikely]]
            begin_chunk();
        *next_++ = c;
    }
    std::size_t chunks() const noexcept { return used_; }
    std::span<const coroutine> chunk(std::size_t i) const noexcept {
        return {chunks_[i].get(), i + 1 == used_ ? next_ : chunks_[i].get() + chunk_size};
    }
    std::size_t size() const noexcept { return used_ == 0 ? 0 : (used_ - 1) * chunk_size + chunk(used_ - 1).size(); }
    void clear() noexcept {
        used_ = 0;
        next_ = end_ = nullptr;
    }

private:
    static constexpr std::size_t chunk_size = 4096;  // chosen: 64 KiB

    [[gnu::noinline]] void begin_chunk() {
        if (used_ == chunks_.size()) chunks_.push_back(std::make_unique_for_overwrite<coroutine[]>(chunk_size));
        next_ = chunks_[used_++].get();
        end_ = next_ + chunk_size;
    }

    std::vector<std::unique_ptr<coroutine[]>> chunks_;
    std::size_t used_ = 0;  // chunks; those behind are spare
    coroutine* next_ = nullptr;
    coroutine* end_ = nullptr;
};

/// Coroutines that count as under way; those that could not be started leave the count.
struct not_started {
    detail::countdown& of;
    std::ptrdiff_t count;
    ~not_started() {
        if (count != 0) of.take(count);
    }
};

/// The count `under_way_` is positive while a coroutine is there that a run() has to wait for: it has
/// one for each that was started and has not ended, one for each of a batch from the begin of its run
/// on, and one for the list `handed_in_` while that is not empty.
class scheduler {
public:
    scheduler(unsigned workers, bool at_once) : rt_({.workers = workers}), at_once_(at_once) {
        if (at_once) rt_.spawn_detached({.name = "scheduler"}, [this] { start_what_is_handed_in(); });
    }
    // relaxed: coroutines that start meanwhile may begin as well as not
    ~scheduler() { is_ending_.store(true, detail::relaxed); }
    scheduler(const scheduler&) = delete;
    scheduler& operator=(const scheduler&) = delete;

    weft_status add(coroutine c) {
        // relaxed: a coroutine knows of the run that has started it
        if (at_once_ || (has_run_.load(detail::relaxed) && is_mine())) return add_now(c);
        batch_.push(c);
        return WEFT_OK;
    }

    weft_status run() {
        if (rt_.inherited()) return not_here("weft_scheduler_run");
        if (is_mine()) return fail(WEFT_ESTATE, "weft_scheduler_run: called by a coroutine of this scheduler");
        run_batch();
        under_way_.wait(detail::never, nullptr);
        std::exception_ptr failure;
        {
            const detail::lock_guard guard(lock_);
            failure = std::exchange(failure_, nullptr);
        }
        return failure ? failure_of_body(failure) : WEFT_OK;
    }

    runtime& where() noexcept { return rt_; }

private:
    // chosen: while a thread goes on adding, it wakes no worker
    static constexpr std::chrono::microseconds nap{50};
    // chosen: so many coroutines use the memory of those before them, if these have ended
    static constexpr std::size_t burst = 128;

    /// Whether a coroutine of this scheduler calls.
    bool is_mine() const noexcept { return runtime::current() == &rt_; }

    [[gnu::noinline]] weft_status add_now(coroutine c) {
        if (!is_mine()) {
            if (rt_.inherited()) return not_here("weft_scheduler_add");
            hand_in(c);
            return WEFT_OK;
        }
        under_way_.add(1);
        not_started missing{under_way_, 1};
        start(c);
        missing.count = 0;
        return WEFT_OK;
    }

    /// Starts what was added since the last run. Of two runs at once, one finds it.
    void run_batch() {
        coroutine_batch taken;
        {
            const detail::lock_guard guard(lock_);
            std::swap(taken, batch_);
        }
        if (taken.size() == 0) return give_back(taken);
        has_run_.store(true, detail::relaxed);
        try {
            rt_.run([&] { start_batch(taken); });
        } catch (const std::exception&) {  // no memory for the rest, which will not run
            const shield until_the_others_have_ended;
            under_way_.wait(detail::never, nullptr);
            throw;
        }
        give_back(taken);
    }

    /// Keeps the memory of a batch for the next one.
    void give_back(coroutine_batch& taken) noexcept {
        taken.clear();
        const detail::lock_guard guard(lock_);
        if (batch_.chunks() == 0) std::swap(taken, batch_);
    }

    // A plain thread that spawned one coroutine after the other would pass the injector, and often
    // wake a worker, for each of them. So it leaves them to one fiber, which starts them.
    void hand_in(coroutine c) {
        bool wakes;
        {
            const detail::lock_guard guard(lock_);
            handed_in_.push_back(c);
            if (handed_in_.size() == 1) under_way_.add(1);  // for all that follow, until they are taken
            wakes = !std::exchange(is_served_, true);
        }
        if (wakes) is_handed_in_.set();
    }

    // What follows runs in fibers, because a worker starts fibers without a lock.

    void start_what_is_handed_in() {
        std::vector<coroutine> taken;
        for (bool has_napped = false;; taken.clear()) {
            if (!take_handed_in(taken, has_napped)) {
                is_handed_in_.wait();  // until the runtime stops
            } else if (taken.empty()) {
                this_fiber::sleep_for(nap);  // or a thread that goes on adding would wake it each time
            } else {
                start_taken(taken);
            }
            has_napped = taken.empty();
        }
    }

    /// \returns false if there is nothing, and the next thread that adds sets the event.
    bool take_handed_in(std::vector<coroutine>& into, bool may_end) {
        const detail::lock_guard guard(lock_);
        into.swap(handed_in_);
        if (into.size() > 1) under_way_.add(static_cast<std::ptrdiff_t>(into.size() - 1));
        is_served_ = !into.empty() || !may_end;
        return is_served_;
    }

    void start_taken(std::span<const coroutine> taken) {
        not_started missing{under_way_, static_cast<std::ptrdiff_t>(taken.size())};
        try {
            start_some(taken, missing);
        } catch (const std::exception&) {
            keep(std::current_exception());
        }
    }

    // A stop of the run() does not interrupt it, or coroutines would be lost.
    void start_batch(const coroutine_batch& batch) {
        const shield until_all_have_started;
        not_started missing{under_way_, static_cast<std::ptrdiff_t>(batch.size())};
        under_way_.add(missing.count);
        for (std::size_t i = 0; i < batch.chunks(); ++i) start_some(batch.chunk(i), missing);
    }

    /// It yields to those that it has started, so that their stacks and control blocks serve the next
    /// ones while they are in the cache.
    void start_some(std::span<const coroutine> coroutines, not_started& missing) {
        for (std::size_t i = 0; i < coroutines.size(); ++i) {
            start(coroutines[i]);
            --missing.count;
            if (i % burst == burst - 1) this_fiber::yield();
        }
    }

    void start(coroutine c) {
        auto body = [this, c] {
            const not_started ended{under_way_, 1};
            if (is_ending_.load(detail::relaxed)) return;
            try {
                body_call::run([&] { return call(c); });
            } catch (...) {
                keep(std::current_exception());
            }
        };
        using fiber = detail::made_fiber<detail::start_as::detached, decltype(body)>;
        fiber(&detail::scheduler_of(rt_), std::source_location{}, body).start();
    }

    // Not inlined: after a jump, registers of this frame are lost.
    [[gnu::noinline]] static int call(coroutine c) {
        weft_coro self;
        self.fiber = this_fiber::id().value;
        if (_setjmp(self.begin) != 0) return 0;
        return c.f(&self, c.arg);
    }

    void keep(std::exception_ptr failure) noexcept {
        const detail::lock_guard guard(lock_);
        if (!failure_) std::swap(failure_, failure);
    }

    coroutine_batch batch_;  // used by one thread at a time; runs take it under lock_
    detail::atomic<bool> has_run_{false};  // with WEFT_BATCH there is no coroutine before the first run
    detail::atomic<bool> is_ending_{false};
    detail::countdown under_way_{detail::countdown::what::wait_group, 0};
    event is_handed_in_{event::automatic};
    detail::spin_lock lock_;
    std::vector<coroutine> handed_in_ WEFT_GUARDED_BY(lock_);
    bool is_served_ WEFT_GUARDED_BY(lock_) = false;  // the fiber looks again before it waits
    std::exception_ptr failure_ WEFT_GUARDED_BY(lock_);
    runtime rt_;  // ends first
    const bool at_once_;
};

scheduler* behind(weft_scheduler* s) noexcept { return s ? static_cast<scheduler*>(s->opaque) : nullptr; }

}  // namespace
}  // namespace weft::capi

using namespace weft::capi;

weft_status weft_scheduler_init(weft_scheduler* s, unsigned workers, int when) {
    if (!s) return refuse("weft_scheduler_init", "the scheduler is null");
    s->opaque = nullptr;
    if (when != WEFT_BATCH && when != WEFT_AS_SPAWNED)
        return refuse("weft_scheduler_init", "when is neither WEFT_BATCH nor WEFT_AS_SPAWNED");
    return guarded([&]() -> weft_status {
        s->opaque = new scheduler(workers, when == WEFT_AS_SPAWNED);
        return WEFT_OK;
    });
}

weft_status weft_scheduler_add(weft_scheduler* s, weft_coro_function f, void* arg) {
    auto* const known = behind(s);
    if (!known) return refuse("weft_scheduler_add", "the scheduler is null");
    if (!f) return refuse("weft_scheduler_add", "the function is null");
    return guarded([&] { return known->add({f, arg}); });
}

weft_status weft_scheduler_run(weft_scheduler* s) {
    auto* const known = behind(s);
    if (!known) return refuse("weft_scheduler_run", "the scheduler is null");
    return guarded([&] { return known->run(); });
}

void weft_scheduler_destroy(weft_scheduler* s) {
    auto* const known = behind(s);
    if (!known) return;
    s->opaque = nullptr;
    if (!known->where().inherited()) delete known;  // else its fibers are those of the parent process, and it stays
}

weft_runtime* weft_scheduler_runtime(const weft_scheduler* s) {
    auto* const known = behind(const_cast<weft_scheduler*>(s));
    return known ? handle_of(&known->where()) : nullptr;
}

weft_status weft_coro_yield(weft_coro* self, int value) {
    if (!self) return refuse("weft_coro_yield", "the coroutine is null");
    if (value == WEFT_MAY_RESUME) return weft_yield();
    if (value != WEFT_FINISHED) return refuse("weft_coro_yield", "value is neither WEFT_MAY_RESUME nor WEFT_FINISHED");
    weft::detail::require(self->fiber == weft_self_id(), "weft_coro_yield: a coroutine ends itself only");
    weft::detail::require(weft::detail::may_jump_to_begin() && open_scopes() == 0,
                          "weft_coro_yield: WEFT_FINISHED inside a shield, deadline, pin, scope or another coroutine");
    _longjmp(self->begin, 1);
}

// scheduler.cpp - the scheduler of weft/c_scheduler.h: coroutines in chunks, run until none is left.
#include <weft/c_scheduler.h>

#include <weft/detail/annotated_locks.hpp>
#include <weft/detail/countdown.hpp>
#include <weft/runtime.hpp>

#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "base/panic.hpp"
#include "base/spin_lock.hpp"
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

class scheduler {
public:
    scheduler(unsigned workers, bool at_once) : rt_({.workers = workers}), at_once_(at_once) {}
    scheduler(const scheduler&) = delete;
    scheduler& operator=(const scheduler&) = delete;

    void add(coroutine c) {
        if (at_once_ || runtime::current() == &rt_) {
            under_way_.add(1);
            not_started missing{under_way_, 1};
            start(c);
            missing.count = 0;
            return;
        }
        if (chunks_.empty() || used_ == chunk) {
            chunks_.push_back(std::make_unique_for_overwrite<coroutine[]>(chunk));
            used_ = 0;
        }
        chunks_.back()[used_++] = c;
    }

    weft_status run() {
        if (!chunks_.empty()) rt_.run([this] { start_all(std::exchange(chunks_, {}), used_); });
        if (!under_way_.wait(detail::never, nullptr)) return WEFT_TIMEDOUT;  // never
        std::exception_ptr failure;
        {
            const detail::lock_guard guard(lock_);
            failure = std::exchange(failure_, nullptr);
        }
        return failure ? failure_of_body(failure) : WEFT_OK;
    }

private:
    static constexpr std::size_t chunk = 4096;  // seed_L11; chosen: 64 KiB
    // chosen: so many coroutines use the memory of those before them, if these have ended
    static constexpr std::size_t burst = 128;

    /// Coroutines that count as under way; those that could not be started leave the count.
    struct not_started {
        detail::countdown& of;
        std::ptrdiff_t count;
        ~not_started() {
            if (count != 0) of.take(count);
        }
    };

    // It runs as a fiber, because a worker starts fibers without a lock. It yields to those that it
    // has started, so that their stacks and control blocks serve the next ones while they are in the
    // cache.
    void start_all(const std::vector<std::unique_ptr<coroutine[]>>& chunks, std::size_t used_of_last) {
        not_started missing{under_way_, static_cast<std::ptrdiff_t>((chunks.size() - 1) * chunk + used_of_last)};
        under_way_.add(missing.count);
        for (std::size_t i = 0; i < chunks.size(); ++i) {
            const std::size_t n = i + 1 == chunks.size() ? used_of_last : chunk;
            for (std::size_t k = 0; k < n; ++k) {
                start(chunks[i][k]);
                --missing.count;
                if (k % burst == burst - 1) this_fiber::yield();
            }
        }
    }

    void start(coroutine c) {
        rt_.spawn_detached([this, c] {
            struct at_end {
                detail::countdown& of;
                ~at_end() { of.take(1); }
            } const ends{under_way_};
            try {
                if (call(c) == WEFT_EFAILED) static_cast<void>(body_call{report_failed, nullptr}());
            } catch (...) {
                keep(std::current_exception());
            }
        });
    }

    /// A body that fails again, so that body_call takes the words of the one that did.
    static int report_failed(void*) noexcept { return WEFT_EFAILED; }

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

    std::vector<std::unique_ptr<coroutine[]>> chunks_;  // used by one thread at a time, as is used_
    std::size_t used_ = 0;
    detail::spin_lock lock_;
    std::exception_ptr failure_ WEFT_GUARDED_BY(lock_);
    detail::countdown under_way_{detail::countdown::what::wait_group, 0};
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
    return guarded([&]() -> weft_status {
        known->add({f, arg});
        return WEFT_OK;
    });
}

weft_status weft_scheduler_run(weft_scheduler* s) {
    auto* const known = behind(s);
    if (!known) return refuse("weft_scheduler_run", "the scheduler is null");
    return guarded([&] { return known->run(); });
}

void weft_scheduler_destroy(weft_scheduler* s) {
    delete behind(s);
    if (s) s->opaque = nullptr;
}

weft_status weft_coro_yield(weft_coro* self, int value) {
    if (!self) return refuse("weft_coro_yield", "the coroutine is null");
    if (value == WEFT_MAY_RESUME) return weft_yield();
    if (value != WEFT_FINISHED) return refuse("weft_coro_yield", "value is neither WEFT_MAY_RESUME nor WEFT_FINISHED");
    weft::detail::require(self->fiber == weft_self_id(), "weft_coro_yield: a coroutine ends itself only");
    weft::detail::require(weft::detail::may_jump_to_begin(),
                          "weft_coro_yield: WEFT_FINISHED inside a shield, a deadline, a pin or another coroutine");
    _longjmp(self->begin, 1);
}

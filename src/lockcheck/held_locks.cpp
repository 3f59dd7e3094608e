#include "lockcheck/held_locks.hpp"

#include <unwind.h>

#include <algorithm>

#include "base/atomic.hpp"

namespace weft::lockcheck {
namespace {

constexpr std::size_t most = 64;  // chosen: locks beyond this number are not recorded

struct thread_list {
    held_lock locks[most];
    std::size_t count;
    unsigned busy;
};

// Starts as zeros and without a constructor, since the first lock of a thread may be taken before
// anything else runs.
__attribute__((tls_model("initial-exec"))) constinit thread_local thread_list mine{};

constinit detail::atomic<detail::fiber_asker> asks{nullptr};

struct collector {
    trace frames{};
    std::size_t count = 0;
    std::size_t skip = 3;  // skips here(), note_taken() and the entry
};

_Unwind_Reason_Code collect(_Unwind_Context* context, void* argument) noexcept {
    auto& c = *static_cast<collector*>(argument);
    if (c.skip > 0) {
        --c.skip;
        return _URC_NO_REASON;
    }
    c.frames[c.count++] = reinterpret_cast<void*>(_Unwind_GetIP(context));
    return c.count == c.frames.size() ? _URC_END_OF_STACK : _URC_NO_REASON;
}

}  // namespace

[[gnu::noinline]] trace here() noexcept {
    collector c;
    _Unwind_Backtrace(collect, &c);
    return c.frames;
}

[[gnu::noinline]] void note_taken(const void* lock, kind what) noexcept {
    if (mine.busy != 0 || mine.count == most) return;
    const busy while_unwinding;
    auto& entry = mine.locks[mine.count];
    // relaxed: only code is reached through this pointer.
    const auto ask = asks.load(detail::relaxed);
    entry = {lock, what, here(), ask ? ask() : detail::running_fiber{}};
    ++mine.count;
}

void note_released(const void* lock) noexcept {
    if (mine.busy != 0) return;
    for (auto i = mine.count; i-- > 0;) {
        if (mine.locks[i].lock != lock) continue;
        std::move(mine.locks + i + 1, mine.locks + mine.count, mine.locks + i);
        --mine.count;
        return;
    }
}

std::span<const held_lock> held_here() noexcept { return {mine.locks, mine.count}; }

void forget_all() noexcept { mine.count = 0; }

busy::busy() noexcept { ++mine.busy; }

busy::~busy() { --mine.busy; }

}  // namespace weft::lockcheck

extern "C" __attribute__((visibility("default"))) void weft_who_runs(weft::detail::fiber_asker from,
                                                                     weft::detail::fiber_asker to) noexcept {
    static_cast<void>(weft::lockcheck::asks.compare_exchange_strong(from, to, weft::detail::relaxed, weft::detail::relaxed));
}

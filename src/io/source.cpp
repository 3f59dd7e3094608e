#include "io/source.hpp"

#include <weft/detail/annotated_locks.hpp>

#include <unistd.h>

#include <new>

#include "base/direct.hpp"
#include "base/fork.hpp"
#include "io/current.hpp"
#include "io/engine.hpp"
#include "io/poll_wait.hpp"
#include "io/refused_here.hpp"
#include "io/source_pool.hpp"
#include "io/system.hpp"
#include "sched/wait/wait_on.hpp"

namespace weft::detail {

void io_source::open(int fd, unsigned forks_then) noexcept {
    fd_ = fd;
    forks_then_ = forks_then;
    {
        // A late event for an earlier use of the source may be under way (SOURCE-3).
        const lock_guard guard(lock_);
        hangup_.store(false, relaxed);
        // One behind the count, so that the descriptor does not count as drained before the first
        // read.
        drained_at_.store(events_[index(io_direction::read)].load(relaxed) - 1, relaxed);
    }
    // pairs with enter(), in case the handle reaches a thread without other ordering
    life_.store(0, release);
}

bool io_source::enter() noexcept {
    auto life = life_.load(relaxed);
    do {
        if (life & closing_bit) return false;
        // pairs with open()
    } while (!life_.compare_exchange_weak(life, life + operation, acquire, relaxed));
    return true;
}

void io_source::leave() noexcept {
    // acq_rel pairs with itself: the operation that closes the descriptor is ordered after all
    // others.
    const auto now = life_.fetch_sub(operation, acq_rel) - operation;
    if ((now & closing_bit) && idle(now)) close_descriptor();  // SOURCE-2
}

void io_source::close() noexcept {
    // Pairs with leave(), in the same way as two calls of leave() with each other.
    const auto before = life_.fetch_or(closing_bit, acq_rel);
    if (before & closing_bit) return;
    // From here on the source may be freed at any time, unless this thread owns the handle or an
    // operation is under way. Callers of close() own the handle, or share it with its owner while
    // they use it.
    if (idle(before))
        close_descriptor();  // SOURCE-2
    else
        wake_all(true, true);
}

void io_source::drop() noexcept {
    close();
    const auto before = life_.fetch_or(dropped_bit, acq_rel);  // pairs with close_descriptor()
    if (before & gone_bit) recycle(*this);                      // SOURCE-2
}

void io_source::close_descriptor() noexcept {
    io_engine* from = nullptr;
    {
        const lock_guard guard(lock_);
        from = engine_.load(relaxed);
        engine_.store(nullptr, relaxed);
        if (from) from->pin();  // ENGINE-2
    }
    if (from) {
        const bool closes_alone = forks_then_ % 2 == 0 && fork_count() == forks_then_;  // SOURCE-7
        if (!closes_alone || !from->forgets_at_close()) from->remove(fd_);
        from->unpin();
    }
    // Its failures concern files only; on Linux the descriptor is gone in every case.
    direct::close(fd_);
    const auto before = life_.fetch_or(gone_bit, acq_rel);  // pairs with drop()
    if (before & dropped_bit) recycle(*this);              // SOURCE-2
}

long io_source::attach() noexcept {
    if (engine_.load(relaxed)) return 0;  // SOURCE-5
    io_engine* mine = nullptr;
    {
        const lock_guard guard(lock_);
        if (engine_.load(relaxed)) return 0;
        mine = current_io();
        if (!mine) return refused_here() ? -EOPNOTSUPP : 0;
        engine_.store(mine, relaxed);
    }
    // Waiters that are linked from here on are woken by the event of the registration itself, if
    // the descriptor is ready.
    const long result = mine->add(fd_, *this);
    if (result == 0) return 0;
    {
        const lock_guard guard(lock_);
        if (engine_.load(relaxed) == mine) engine_.store(nullptr, relaxed);
    }
    // The waiters try again themselves, and fail or find another engine.
    wake_all(true, true);
    return result;
}

bool io_source::is_watched() noexcept {
    const lock_guard guard(lock_);
    return engine_.load(relaxed) != nullptr;
}

bool io_source::must_look_again(io_direction way, event_count seen) const noexcept {
    return events_[index(way)].load(relaxed) != seen  // SOURCE-4
           || engine_.load(relaxed) == nullptr           // SOURCE-5
           || closing();  // closing_bit is set before close() takes lock_ to wake
}

readiness io_source::wait(io_direction way, event_count seen, const wait_kind& kind, time_point until) noexcept {
    unwaited_.store(0, relaxed);  // a rough count
    lock_.lock();
    if (engine_.load(relaxed) == nullptr && !closing() && current_io() == nullptr) {
        lock_.unlock();
        return wait_without_engine(way, until);
    }
    if (must_look_again(way, seen)) {
        lock_.unlock();
        return readiness::again;
    }
    const wait_end how = wait_on(lock_, waiters_[index(way)], {.kind = kind, .object = this, .deadline = until});
    if (how == wait_end::notified) return readiness::again;
    return how == wait_end::timed_out ? readiness::timed_out : readiness::interrupted;
}

bool io_source::enlist(waiter& w, io_direction way, event_count seen) noexcept {
    const lock_guard guard(lock_);
    if (must_look_again(way, seen)) return false;
    waiters_[index(way)].push_back(w);
    return true;
}

void io_source::delist(waiter& w, io_direction way) noexcept {
    const lock_guard guard(lock_);
    waiters_[index(way)].remove(w);
}

unsigned io_source::on_event(io_event e) noexcept {
    if (e.hangup) hangup_.store(true, relaxed);  // ordered by the release below
    return wake_all(e.readable, e.writable);
}

void io_source::on_engine_gone(const io_engine& gone) noexcept {
    {
        const lock_guard guard(lock_);
        if (engine_.load(relaxed) != &gone) return;
        engine_.store(nullptr, relaxed);
    }
    wake_all(true, true);
}

// The waiters do not exist in the child, nor does a thread that may have held the lock.
// Not analysed: the lock is the caller's whether try_lock() takes it or finds it taken.
void io_source::forget_others() noexcept WEFT_NO_THREAD_SAFETY_ANALYSIS {
    if (lock_.try_lock() && !engine_.load(relaxed) && waiters_[0].empty() && waiters_[1].empty())
        return lock_.unlock();  // so memory is written only if necessary
    engine_.store(nullptr, relaxed);
    for (auto& list : waiters_) ::new (&list) wait_list;
    for (auto& e : events_) e.fetch_add(1, relaxed);  // relaxed: this is the only thread
    lock_.unlock();
}

unsigned io_source::wake_all(bool readers, bool writers) noexcept {
    // Their owners cannot resume before unpark() (WAITER-3).
    waiter* first = nullptr;  // mostly the only one
    intrusive_list<waiter> others;
    {
        const lock_guard guard(lock_);
        const bool wanted[2] = {readers, writers};
        for (const auto way : {io_direction::read, io_direction::write}) {
            if (!wanted[index(way)]) continue;
            auto& count = events_[index(way)];
            // It is written under lock_ only. Pairs with events() (SOURCE-4).
            count.store(count.load(relaxed) + 1, release);
            auto& list = waiters_[index(way)];
            if (list.empty()) continue;
            if (!first) first = list.claim_front();
            while (waiter* w = list.claim_front()) others.push_back(*w);
        }
    }
    if (!first) return 0;
    first->unpark();
    unsigned n = 1;
    for (; waiter* w = others.pop_front(); ++n) w->unpark();
    return n;
}

readiness io_source::wait_without_engine(io_direction way, time_point until) noexcept {
    pollfd wanted = poll_request(fd_, way);
    const auto result = poll_descriptors({&wanted, 1}, until);
    // Counts as an event of an engine; without it a descriptor marked as drained would stay
    // drained.
    on_event({.readable = way == io_direction::read, .writable = way == io_direction::write, .hangup = false});
    return result;
}

}  // namespace weft::detail

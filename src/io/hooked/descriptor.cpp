#include "io/hooked/descriptor.hpp"

#include <weft/detail/annotated_locks.hpp>

#include <poll.h>

#include <cerrno>
#include <new>

#include "io/engine.hpp"

namespace weft::detail {
namespace {

constexpr unsigned per_chunk = 256, chunks = 4096;  // chosen: the most descriptors that Linux gives unless it is told otherwise

atomic<hooked_descriptor*> all[chunks];

short events_of(const waiter& w) noexcept { return static_cast<short>(reinterpret_cast<std::intptr_t>(w.slot)); }

constexpr std::intptr_t one_at_a_time_bit = 1 << 16;  // beside the events

bool is_one_at_a_time(const waiter& w) noexcept { return (reinterpret_cast<std::intptr_t>(w.slot) & one_at_a_time_bit) != 0; }

bool concerns(const waiter& w, short events) noexcept { return (events & (POLLERR | POLLHUP | events_of(w))) != 0; }

}  // namespace

hooked_descriptor* hooked_descriptor::existing(int fd) noexcept {
    const auto n = static_cast<unsigned>(fd);
    if (n >= per_chunk * chunks) return nullptr;
    auto* const chunk = all[n / per_chunk].load(acquire);  // pairs with of()
    return chunk ? &chunk[n % per_chunk] : nullptr;
}

hooked_descriptor* hooked_descriptor::of(int fd) noexcept {
    if (auto* const found = existing(fd)) return found;
    const auto n = static_cast<unsigned>(fd);
    if (n >= per_chunk * chunks) return nullptr;
    auto* const fresh = new (std::nothrow) hooked_descriptor[per_chunk];
    if (!fresh) return nullptr;
    hooked_descriptor* there = nullptr;
    // pairs with existing()
    if (all[n / per_chunk].compare_exchange_strong(there, fresh, acq_rel, acquire)) return &fresh[n % per_chunk];
    delete[] fresh;
    return &there[n % per_chunk];
}

long hooked_descriptor::arm(int fd, short events, io_engine& mine) noexcept {
    const bool was_added = (added_to_ & mine.hooked_bit()) != 0;
    armed_ = events;
    using how = io_engine::once;
    if (was_added && !closed_.load(relaxed)) {  // a hint
        const long r = mine.report_once(fd, events, how::changed);
        if (r != -ENOENT) return r;
    }
    closed_.store(false, relaxed);
    long r = mine.report_once(fd, events, how::added);
    if (r == -EEXIST && was_added) r = mine.report_once(fd, events, how::changed);  // HOOKED_DESCRIPTOR-4
    if (r == 0) added_to_ |= mine.hooked_bit();
    return r;
}

bool hooked_descriptor::forget(const io_engine& e) noexcept {
    const bool was_added = (added_to_ & e.hooked_bit()) != 0;
    added_to_ &= ~e.hooked_bit();
    return was_added;
}

long hooked_descriptor::enlist(waiter& w, int fd, short events, share how, io_engine& mine) noexcept {
    const auto word = static_cast<std::intptr_t>(static_cast<unsigned short>(events));
    w.slot = reinterpret_cast<void*>(how == one_at_a_time ? word | one_at_a_time_bit : word);
    const lock_guard guard(lock_);
    // Perhaps more than is waited for, which an event tells.
    const auto wanted = static_cast<short>(waiters_.empty() ? events : armed_ | events);
    waiters_.push_back(w);  // HOOKED_DESCRIPTOR-1
    const long r = arm(fd, wanted, mine);
    if (r != 0) waiters_.remove(w);
    return r;
}

void hooked_descriptor::delist(waiter& w) noexcept {
    const lock_guard guard(lock_);
    waiters_.remove(w);
}

// Not analysed: the lock is taken in a loop.
void hooked_descriptor::closing() noexcept WEFT_NO_THREAD_SAFETY_ANALYSIS {
    closed_.store(true, relaxed);  // a hint
    constexpr int most_tries = 100;  // chosen: some microseconds; a holder that runs makes two system calls at most
    for (int i = 0; !lock_.try_lock(); ++i) {
        if (i == most_tries) return;
        cpu_relax();
    }
    wait_list woken;
    take_all_as_closed(woken);
    lock_.unlock();
    unpark_all(woken);
}

void hooked_descriptor::take_all_as_closed(wait_list& into) noexcept {
    while (waiter* const w = waiters_.claim_front()) {
        w->cell().outcome = closed;
        into.push_back(*w);
    }
}

unsigned hooked_descriptor::on_event(int fd, short events, io_engine& from) noexcept {
    auto* const d = existing(fd);
    if (!d) return 0;
    wait_list woken;
    {
        const lock_guard guard(d->lock_);
        bool some_are_left = false, has_woken_one = false;
        short left = 0;  // their events, which may be none but errors
        const bool wakes_all = (events & (POLLERR | POLLHUP)) != 0;
        for (waiter *w = d->waiters_.front(), *next = nullptr; w; w = next) {
            next = d->waiters_.next(*w);
            const bool waits_its_turn = !wakes_all && has_woken_one && is_one_at_a_time(*w);
            if (!concerns(*w, events) || waits_its_turn) {
                some_are_left = true;
                left |= events_of(*w);
                continue;
            }
            d->waiters_.remove(*w);
            if (!w->claim()) continue;
            woken.push_back(*w);
            has_woken_one = has_woken_one || is_one_at_a_time(*w);
        }
        if (some_are_left && d->arm(fd, left, from) != 0) claim_all(d->waiters_, woken);  // HOOKED_DESCRIPTOR-2
    }
    unsigned n = 0;
    for (; waiter* const w = woken.pop_front(); ++n) w->unpark();
    return n;
}

// ---- forks (HOOKED_DESCRIPTOR-5)

// Not analysed, as renew_all().
void hooked_descriptor::renew() noexcept WEFT_NO_THREAD_SAFETY_ANALYSIS {
    // Memory is written only if necessary.
    if (lock_.try_lock()) {
        const bool is_as_new = added_to_ == 0 && waiters_.empty();
        lock_.unlock();
        if (is_as_new) return;
    }
    ::new (this) hooked_descriptor;
}

void hooked_descriptor::renew_all() noexcept {
    for (auto& chunk : all)
        if (auto* const first = chunk.load(relaxed))  // this is the only thread
            for (unsigned i = 0; i < per_chunk; ++i) first[i].renew();
}

void hooked_descriptor::follow_forks_from_the_start() noexcept {  // FORK-3
    follow_forks({.in_child = renew_all});
}

}  // namespace weft::detail

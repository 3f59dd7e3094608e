#include "base/fork.hpp"

#include <weft/detail/annotated_locks.hpp>

#include <pthread.h>
#include <unistd.h>

#include "base/atomic.hpp"
#include "base/direct.hpp"
#include "base/spin_lock.hpp"

namespace weft::detail {
namespace {

constinit atomic<unsigned> generation{0};
constinit atomic<unsigned> fork_events{0};

constinit spin_lock listing;
constinit intrusive_list<unshared_descriptor> unshared WEFT_GUARDED_BY(listing);

// pairs with fork_count(): system calls that fork, open or close a file come between the two
void count_one() noexcept { fork_events.fetch_add(1, seq_cst); }

void count_forks() noexcept {
    static const bool once = [] {
        // relaxed in the child: it has no other thread
        ::pthread_atfork(count_one, count_one, [] {
            count_one();
            generation.fetch_add(1, relaxed);
        });
        return true;
    }();
    static_cast<void>(once);
}

[[gnu::constructor(before_static_objects)]] void follow_from_the_start() noexcept {  // FORK-3
    count_forks();
    // the first one made registers the handlers that close descriptors in children
    const unshared_descriptor none(-1);
}

}  // namespace

void follow_forks(const fork_steps& steps) noexcept {
    count_forks();
    ::pthread_atfork(steps.before, steps.in_parent, steps.in_child);
}

// pairs with the handlers in count_forks()
unsigned fork_count() noexcept { return fork_events.load(seq_cst); }

unsigned fork_generation() noexcept { return generation.load(relaxed); }

unshared_descriptor::unshared_descriptor(int fd) noexcept : fd_(fd) {
    static const bool once = [] {
        follow_forks({.before = []() WEFT_ACQUIRE(listing) { listing.lock(); },
                      .in_parent = []() WEFT_RELEASE(listing) { listing.unlock(); },
                      .in_child = close_all_in_child});
        return true;
    }();
    static_cast<void>(once);
    const lock_guard guard(listing);
    unshared.push_back(*this);
}

unshared_descriptor::~unshared_descriptor() {
    {
        const lock_guard guard(listing);
        unshared.remove(*this);
    }
    if (fd_ >= 0) direct::close(fd_);
}

void unshared_descriptor::close_all_in_child() noexcept WEFT_RELEASE(listing) {
    while (auto* const d = unshared.pop_front())
        if (d->fd_ >= 0) direct::close(std::exchange(d->fd_, -1));
    listing.unlock();
}

}  // namespace weft::detail

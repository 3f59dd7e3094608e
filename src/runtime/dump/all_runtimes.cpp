#include "runtime/dump/all_runtimes.hpp"

#include <weft/detail/annotated_locks.hpp>

#include <algorithm>

#include "base/fork.hpp"
#include "base/futex_lock.hpp"
#include "runtime/dump/debug_layout.hpp"
#include "sched/simulate/simulator.hpp"

namespace weft::detail {
namespace {

constinit futex_lock list_lock;
constinit listed_runtime* first WEFT_GUARDED_BY(list_lock) = nullptr;  // the newest is first

[[gnu::constructor(before_static_objects)]] void lists_follow_forks() noexcept {  // FORK-3
    follow_forks({.before = []() WEFT_ACQUIRE(list_lock) { list_lock.lock(); },
                  .in_parent = []() WEFT_RELEASE(list_lock) { list_lock.unlock(); },
                  .in_child =
                      []() WEFT_RELEASE(list_lock) {
                          first = nullptr;  // ALL_RUNTIMES-3
                          list_lock.unlock();
                      }});
}

}  // namespace

listed_runtime::listed_runtime(scheduler& of_it) : fibers_(&of_it) {
    const lock_guard guard(list_lock);
    describe_layout(&first);
    next_ = first;
    first = this;
}

listed_runtime::~listed_runtime() {
    {
        const lock_guard guard(list_lock);
        for (auto** at = &first; *at; at = &(*at)->next_)
            if (*at == this) {
                *at = next_;
                break;
            }
    }
    // ALL_RUNTIMES-2; pairs with the release in gives_back.
    while (viewers_.load(acquire) != 0) thread_yield();
}

std::vector<listed_runtime::viewed> listed_runtime::all() {
    std::vector<viewed> found;
    const lock_guard guard(list_lock);
    for (auto* r = first; r; r = r->next_) {
        // ALL_RUNTIMES-4
        if (const auto* const s = r->fibers().simulated(); s && s->has_given_up()) continue;
        found.emplace_back();  // first, since it may throw
        r->viewers_.fetch_add(1, relaxed);  // under the lock, as is the removal from the list
        found.back().reset(r);
    }
    std::reverse(found.begin(), found.end());
    return found;
}

}  // namespace weft::detail

#include "io/streams_asleep.hpp"

#include <weft/detail/annotated_locks.hpp>

#include <algorithm>
#include <utility>

#include "base/fork.hpp"
#include "base/futex_lock.hpp"

namespace weft::detail {
namespace {

constinit futex_lock servers_lock;
constinit streams_asleep* newest_server WEFT_GUARDED_BY(servers_lock) = nullptr;

[[gnu::constructor(before_static_objects)]] void servers_follow_forks() noexcept {  // FORK-3
    follow_forks({.before = []() WEFT_ACQUIRE(servers_lock) { servers_lock.lock(); },
                  .in_parent = []() WEFT_RELEASE(servers_lock) { servers_lock.unlock(); },
                  .in_child =
                      []() WEFT_RELEASE(servers_lock) {
                          newest_server = nullptr;  // STREAMS_ASLEEP-2
                          servers_lock.unlock();
                      }});
}

}  // namespace

streams_asleep::streams_asleep(const idle_streams_core& streams, const scheduler& home, std::string_view owner,
                               std::string address)
    : streams_(streams), home_(home), owner_(owner), address_(std::move(address)) {
    const lock_guard guard(servers_lock);
    next_ = newest_server;
    newest_server = this;
}

streams_asleep::~streams_asleep() {
    {
        const lock_guard guard(servers_lock);
        for (auto** at = &newest_server; *at; at = &(*at)->next_)
            if (*at == this) {
                *at = next_;
                break;
            }
    }
    // STREAMS_ASLEEP-1; pairs with the release in gives_back.
    while (viewers_.load(acquire) != 0) thread_yield();
}

std::vector<streams_asleep::viewed> streams_asleep::all() {
    std::vector<viewed> found;
    const lock_guard guard(servers_lock);
    for (auto* e = newest_server; e; e = e->next_) {
        found.emplace_back();  // first, since it may throw
        e->viewers_.fetch_add(1, relaxed);  // under the lock, as is the removal from the list
        found.back().reset(e);
    }
    std::reverse(found.begin(), found.end());
    return found;
}

}  // namespace weft::detail

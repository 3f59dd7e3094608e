#include "http/client/pool.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include <weft/detail/timeouts.hpp>

namespace weft::detail {
namespace {

// chosen: buffers of so many requests at once are kept for the next ones
constexpr std::size_t most_spare = 64;

}  // namespace

struct client_origin {
    client_origin(const client_origin_name& n, std::ptrdiff_t most)
        : host(n.host), name{.tls = n.tls, .host = host, .port = n.port}, permits(most) {}

    const std::string host;
    const client_origin_name name;
    weft::counting_semaphore<> permits;         // CLIENT_POOL-2
    intrusive_list<client_connection> idle;  // the one that became idle last comes first
    std::size_t idle_count = 0;
    std::size_t users = 0;  // leases and waiters
};

client_pool::client_pool(const http::client_options& o) : options_(o) {
    spare_.reserve(most_spare);
    watcher_ = weft::spawn({.name = "http-client"}, [this] { watch(); });
}

client_pool::~client_pool() = default;

client_origin& client_pool::enter(const client_origin_name& to) {
    const lock_guard guard(mutex_);
    auto at = origins_.find(to);
    if (at == origins_.end()) {
        constexpr std::size_t most = std::size_t{1} << 30;
        auto made = std::make_unique<client_origin>(to, static_cast<std::ptrdiff_t>(std::min(options_.most_per_host, most)));
        const auto name = made->name;
        at = origins_.emplace(name, std::move(made)).first;
    }
    ++at->second->users;
    return *at->second;
}

/// CLIENT_POOL-4.
void client_pool::leave(client_origin& o) noexcept {
    if (o.users == 0 && o.idle_count == 0) origins_.erase(origins_.find(o.name));
}

client_pool::lease client_pool::acquire(const client_origin_name& to) {
    auto& origin = enter(to);
    try {
        origin.permits.acquire();
    } catch (...) {
        const lock_guard guard(mutex_);
        --origin.users;
        leave(origin);
        throw;
    }
    lease l(*this, origin);
    {
        const lock_guard guard(mutex_);
        ++busy_;
        l.connection_ = take_idle(origin);
        if (!spare_.empty()) {
            l.buffers_ = std::move(spare_.back());
            spare_.pop_back();
        }
    }
    if (!l.buffers_) l.buffers_ = std::make_unique<client_buffers>(options_.max_header_bytes);
    return l;
}

/// CLIENT_POOL-3. Those that are due are closed by watch().
std::unique_ptr<client_connection> client_pool::take_idle(client_origin& o) noexcept {
    while (auto* const c = o.idle.front()) {
        unlist(*c);
        if (auto taken = idle_.take(*c)) return taken;
    }
    return nullptr;
}

void client_pool::unlist(client_connection& c) noexcept {
    c.origin.idle.remove(c);
    --c.origin.idle_count;
    --idle_count_;
}

void client_pool::give_back(lease& l, bool keep) noexcept {
    auto connection = std::move(l.connection_);
    auto buffers = std::move(l.buffers_);
    std::unique_ptr<client_connection> evicted;
    auto& origin = *l.origin_;
    l.pool_ = nullptr;
    keep = keep && connection && options_.idle_per_host > 0 && options_.most_idle > 0;
    if (!keep) connection.reset();  // it may take long to close, and is not done under the lock
    {
        const lock_guard guard(mutex_);
        --busy_;
        if (keep && origin.idle_count < options_.idle_per_host) {
            if (idle_count_ >= options_.most_idle && (evicted = idle_.take_oldest())) {
                unlist(*evicted);
                if (&evicted->origin != &origin) leave(evicted->origin);
            }
            if (idle_count_ < options_.most_idle) {
                connection->set_limit(deadline_after(options_.idle_life));
                add_idle(std::move(connection));
            }
        }
        if (buffers && buffers->in.capacity() + buffers->out.capacity() <= client_buffers::kept_bytes &&
            spare_.size() < most_spare) {
            buffers->in.clear();
            buffers->out.clear();
            spare_.push_back(std::move(buffers));
        }
        origin.permits.release();  // CLIENT_POOL-2: after the connection is idle
        --origin.users;
        leave(origin);
    }
}

/// Under the lock: nobody may find the connection in its origin's list before it is asleep. A stream of
/// a simulated network may park here; others wait then, and the fiber of watch() is not among those it waits for.
void client_pool::add_idle(std::unique_ptr<client_connection> c) noexcept {
    auto& added = *c;
    added.origin.idle.push_front(added);
    ++added.origin.idle_count;
    ++idle_count_;
    try {
        if (idle_.add(std::move(c))) duties_.release();
    } catch (...) {
        unlist(added);  // there was no memory: it is closed, since c still owns it
    }
}

/// Whether an event has told of nothing: TLS has taken what has come, or another connection of a simulated
/// network was meant.
bool client_pool::has_nothing_to_say(client_connection& c) noexcept {
    if (!c.has_slept() || c.has_timed_out() || c.limit() <= clock::now()) return false;
    try {
        std::byte unasked;
        std::error_code error;
        return !c.stream.try_read_some({&unasked, 1}, error) && !error;
    } catch (...) {
        return false;  // a stream of the program's own; watch() must go on
    }
}

/// Puts a connection back to sleep, which stays where it is in its origin's list. Its limit may be noticed
/// late: with that of the connection in front of it, which had fallen asleep before.
/// \returns  false if there is no memory for it.
bool client_pool::sleep_again(std::unique_ptr<client_connection>& c) noexcept {
    try {
        if (idle_.add(std::move(c))) duties_.release();
        return true;
    } catch (...) {
        return false;
    }
}

/// Closes connections whose servers have closed them or said something unasked, and those idle for
/// too long.
void client_pool::watch() {
    for (;;) {
        duties_.acquire();
        while (auto c = idle_.next()) {
            const bool may_stay = has_nothing_to_say(*c);
            const lock_guard guard(mutex_);
            if (!c->list_hook<client_connection>::linked()) continue;  // acquire() has found it due
            if (may_stay && sleep_again(c)) continue;
            auto& origin = c->origin;
            unlist(*c);
            leave(origin);
        }
    }
}

http::client_connections client_pool::connections() const noexcept {
    const lock_guard guard(mutex_);
    return {.busy = busy_, .idle = idle_count_};
}

}  // namespace weft::detail

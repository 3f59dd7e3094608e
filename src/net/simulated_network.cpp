// simulated_network.cpp - one lock and one condition for a whole network: few fibers wait in it.
//
// A select cannot wait for a condition, so its waiters have a list of their own, with a lock that
// may be taken where a fiber must not park. Every change raises `changes` under that lock before it
// claims them, so a select that looks, and is enlisted only if the count is unchanged, misses none.
#include <weft/net/simulated_network.hpp>

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include <weft/condition_variable.hpp>
#include <weft/detail/annotated_locks.hpp>
#include <weft/fiber.hpp>
#include <weft/mutex.hpp>
#include <weft/simulation.hpp>
#include <weft/stop.hpp>

#include "base/spin_lock.hpp"
#include "fiber/waiter.hpp"
#include "io/operation.hpp"
#include "io/reporting.hpp"

namespace weft::detail {

using net::endpoint;
using net::simulated_socket;

struct simulated_piece {
    time_point arrives;
    std::vector<std::byte> bytes;  // empty: the end of the stream
    std::size_t taken = 0;
};

// Guarded by the lock of its network.
struct simulated_pipe {
    std::string from, to;
    std::deque<simulated_piece> pieces;
    std::size_t under_way = 0;
    bool is_ended = false;    // the writer writes no more
    bool is_ignored = false;  // the reader has closed its end
    bool is_cut_short = false;  // the reader reads what has arrived, and no more
};

struct simulated_state {
    weft::mutex lock;  // guards everything below, and everything that belongs to this network
    weft::condition_variable changed;
    net::network_faults faults;
    std::set<std::pair<std::string, std::string>> cuts;
    std::map<endpoint, std::shared_ptr<simulated_door>> doors;
    std::map<endpoint, std::shared_ptr<simulated_box>> boxes;
    std::uint16_t next_port = 49152;  // for clients: the first one that no server is given

    spin_lock selects_lock;  // taken last
    std::uint32_t changes WEFT_GUARDED_BY(selects_lock) = 0;
    wait_list selects WEFT_GUARDED_BY(selects_lock);

    /// Something has changed: wakes all that wait. Called under `lock`.
    void tell() noexcept {
        changed.notify_all();
        intrusive_list<waiter> claimed;
        {
            const lock_guard guard(selects_lock);
            ++changes;
            while (auto* const w = selects.claim_front()) claimed.push_back(*w);
        }
        while (auto* const w = claimed.pop_front()) w->unpark();
    }
    std::uint16_t take_port() noexcept { return next_port == 65535 ? std::exchange(next_port, 49152) : next_port++; }
    bool is_cut(const std::string& a, const std::string& b) const { return cuts.contains(std::minmax(a, b)); }
    duration delay() const {
        const auto range = faults.most_delay - faults.least_delay;
        constexpr std::chrono::nanoseconds steps(1000);  // chosen: fine enough for any test
        return range <= range.zero() ? faults.least_delay : faults.least_delay + range * draw(steps.count() + 1) / steps.count();
    }
};

struct simulated_connection {
    simulated_connection(std::shared_ptr<simulated_state> s, const endpoint& from, const endpoint& to)
        : state(std::move(s)), ends{from, to} {
        pipes[0].from = pipes[1].to = from.host;
        pipes[0].to = pipes[1].from = to.host;
    }

    simulated_pipe& out_of(int side) { return pipes[side]; }
    simulated_pipe& into(int side) { return pipes[1 - side]; }
    void end(simulated_pipe& p) {
        if (!std::exchange(p.is_ended, true)) send(p, {});
    }
    void send(simulated_pipe& p, std::vector<std::byte> bytes) {
        auto arrives = weft::now() + state->delay();
        if (!p.pieces.empty()) arrives = std::max(arrives, p.pieces.back().arrives);
        p.under_way += bytes.size();
        p.pieces.push_back({arrives, std::move(bytes)});
        state->tell();
    }

    /// When a read on this side does not wait any more; never: when something changes.
    time_point readable_at(int side) {
        auto& p = into(side);
        if (is_reset || is_closed[side]) return long_past;
        const auto arrives = p.pieces.empty() || state->is_cut(p.from, p.to) ? never : p.pieces.front().arrives;
        return p.is_cut_short && arrives > weft::now() ? long_past : arrives;
    }
    /// Throws if this side is closed, or the connection was reset.
    void check(int side, const char* what) const;
    /// Takes what a read on this side finds, which does not have to wait.
    std::size_t read_now(int side, std::span<std::byte> into);
    /// Writes what fits. \returns nothing if that is nothing.
    std::optional<std::size_t> write_now(int side, std::span<const std::byte> from);

    const std::shared_ptr<simulated_state> state;
    // [0]: the connecting side, and from it; [1]: the accepting side
    const endpoint ends[2];
    simulated_pipe pipes[2];
    bool is_closed[2] = {};
    bool is_reset = false;
};

struct simulated_door {
    const std::shared_ptr<simulated_state> state;
    const endpoint at;
    std::deque<std::shared_ptr<simulated_connection>> waiting;
    bool is_closed = false;
};

struct simulated_box {
    const std::shared_ptr<simulated_state> state;
    const endpoint at;
    std::multimap<time_point, simulated_socket::datagram> arriving;
};

}  // namespace weft::detail

namespace weft::net {
namespace {

using namespace detail;
using guard = std::unique_lock<weft::mutex>;  // handed on to what waits for a change

constexpr std::size_t most_under_way = 64 * 1024;  // chosen

bool one_in(std::uint32_t n) noexcept { return n != 0 && draw(n) == 0; }

[[noreturn]] void fail(std::errc why, const char* what) { throw std::system_error(std::make_error_code(why), what); }

constexpr const char* reading = "weft: simulated read";
constexpr const char* writing = "weft: simulated write";

/// Throws if this is the part of an object that was never open.
template <class T>
const std::shared_ptr<T>& opened(const std::shared_ptr<T>& c, const char* what) {
    if (!c) fail(std::errc::bad_file_descriptor, what);
    return c;
}

void wait_for_change(simulated_state& s, guard& lock, time_point until) {
    if (until == never)
        s.changed.wait(lock);
    else
        s.changed.wait_until(lock, until);
}

}  // namespace

// ---- streams

simulated_stream::simulated_stream(simulated_stream&& other) noexcept
    : connection_(std::move(other.connection_)), side_(other.side_) {}

simulated_stream& simulated_stream::operator=(simulated_stream&& other) noexcept {
    if (this == &other) return *this;
    close();
    connection_ = std::move(other.connection_);
    side_ = other.side_;
    return *this;
}

simulated_stream::~simulated_stream() { close(); }

void simulated_stream::wait_readable() {
    auto& c = *opened(connection_, reading);
    for (guard lock(c.state->lock);;) {
        const auto at = c.readable_at(side_);
        if (at <= weft::now()) return c.check(side_, reading);
        wait_for_change(*c.state, lock, at);
    }
}

std::size_t simulated_stream::read_some(std::span<std::byte> into) {
    auto& c = *opened(connection_, reading);
    if (into.empty()) return 0;
    for (guard lock(c.state->lock);;) {
        const auto at = c.readable_at(side_);
        if (at <= weft::now()) return c.read_now(side_, into);
        wait_for_change(*c.state, lock, at);
    }
}

std::optional<std::size_t> simulated_stream::try_read_some(std::span<std::byte> into) {
    auto& c = *opened(connection_, reading);
    if (into.empty()) return 0;
    const guard lock(c.state->lock);
    return c.readable_at(side_) <= weft::now() ? std::optional(c.read_now(side_, into)) : std::nullopt;
}

std::size_t simulated_stream::write_some(std::span<const std::byte> from) {
    auto& c = *opened(connection_, writing);
    if (from.empty()) return 0;
    for (guard lock(c.state->lock);;) {
        if (const auto n = c.write_now(side_, from)) return *n;
        wait_for_change(*c.state, lock, never);
    }
}

std::optional<std::size_t> simulated_stream::try_write_some(std::span<const std::byte> from) {
    auto& c = *opened(connection_, writing);
    if (from.empty()) return 0;
    const guard lock(c.state->lock);
    return c.write_now(side_, from);
}

std::size_t simulated_stream::read_some(std::span<std::byte> into, std::error_code& error) {
    return reporting(error, [&] { return read_some(into); });
}

std::size_t simulated_stream::write_some(std::span<const std::byte> from, std::error_code& error) {
    return reporting(error, [&] { return write_some(from); });
}

std::optional<std::size_t> simulated_stream::try_read_some(std::span<std::byte> into, std::error_code& error) {
    const auto done = reporting(error, [&] { return try_read_some(into); });
    return error ? std::optional<std::size_t>(0) : done;
}

std::optional<std::size_t> simulated_stream::try_write_some(std::span<const std::byte> from, std::error_code& error) {
    const auto done = reporting(error, [&] { return try_write_some(from); });
    return error ? std::optional<std::size_t>(0) : done;
}

void simulated_stream::wait_readable(std::error_code& error) {
    reporting(error, [&] { wait_readable(); });
}

void simulated_stream::shutdown(io::side which) noexcept {
    std::error_code ignored;
    shutdown(which, ignored);
}

void simulated_stream::shutdown(io::side which, std::error_code& error) noexcept {
    error = connection_ ? std::error_code() : closed_error();
    if (error) return;
    auto& c = *connection_;
    const guard lock(c.state->lock);
    if (which != io::side::receive) c.end(c.out_of(side_));
    if (which != io::side::send) c.into(side_).is_cut_short = true;
    c.state->tell();
}

void simulated_stream::close() noexcept {
    if (!connection_) return;
    auto& c = *connection_;
    const guard lock(c.state->lock);
    if (std::exchange(c.is_closed[side_], true)) return;
    c.end(c.out_of(side_));
    c.into(side_).is_ignored = true;
    c.state->tell();
}

void simulated_stream::abort() noexcept {
    if (!connection_) return;
    {
        const guard lock(connection_->state->lock);
        if (connection_->is_closed[side_]) return;
        connection_->is_reset = true;
    }
    close();
}

bool simulated_stream::is_open() const noexcept {
    if (!connection_) return false;
    const guard lock(connection_->state->lock);
    return !connection_->is_closed[side_];
}

std::size_t simulated_stream::unacknowledged() const noexcept {
    if (!connection_) return 0;
    const guard lock(connection_->state->lock);
    return connection_->out_of(side_).under_way;
}

endpoint simulated_stream::remote() const { return opened(connection_, "weft: simulated remote")->ends[1 - side_]; }

endpoint simulated_stream::remote(std::error_code& error) const {
    return reporting(error, [&] { return remote(); });
}

}  // namespace weft::net

namespace weft::detail {

void simulated_connection::check(int side, const char* what) const {
    if (is_closed[side]) net::fail(std::errc::bad_file_descriptor, what);
    if (is_reset) net::fail(std::errc::connection_reset, what);
}

std::size_t simulated_connection::read_now(int side, std::span<std::byte> into_buffer) {
    check(side, net::reading);
    auto& p = into(side);
    // the reader has cut the stream short, or it has come to its end
    if (p.pieces.empty() || p.pieces.front().arrives > weft::now() || p.pieces.front().bytes.empty()) return 0;
    auto& first = p.pieces.front();
    const auto n = std::min(into_buffer.size(), first.bytes.size() - first.taken);
    std::copy_n(first.bytes.begin() + static_cast<std::ptrdiff_t>(first.taken), n, into_buffer.begin());
    first.taken += n;
    p.under_way -= n;
    if (first.taken == first.bytes.size()) p.pieces.pop_front();
    state->tell();
    return n;
}

std::optional<std::size_t> simulated_connection::write_now(int side, std::span<const std::byte> from) {
    check(side, net::writing);
    auto& p = out_of(side);
    if (p.is_ended || p.is_ignored) net::fail(std::errc::broken_pipe, net::writing);
    if (p.under_way >= net::most_under_way) return std::nullopt;
    if (net::one_in(state->faults.reset_one_in)) {
        is_reset = true;
        state->tell();
        net::fail(std::errc::connection_reset, net::writing);
    }
    auto n = std::min(from.size(), net::most_under_way - p.under_way);
    if (net::one_in(state->faults.split_one_in)) n = 1 + draw(static_cast<std::uint32_t>(n));
    send(p, {from.begin(), from.begin() + static_cast<std::ptrdiff_t>(n)});
    return n;
}

select_watch::state simulated_readiness::look() noexcept {
    if (!connection_) return state::ready;
    auto& s = *connection_->state;
    const lock_guard lock(s.lock);
    {
        const lock_guard guard(s.selects_lock);
        seen_ = s.changes;
    }
    ready_at_ = connection_->readable_at(side_);
    return ready_at_ <= weft::now() ? state::ready : state::idle;
}

bool simulated_readiness::enlist(waiter& w) noexcept {
    auto& s = *connection_->state;
    const lock_guard guard(s.selects_lock);
    if (s.changes != seen_) return false;
    s.selects.push_back(w);
    return true;
}

void simulated_readiness::delist(waiter& w) noexcept {
    if (!connection_) return;
    const lock_guard guard(connection_->state->selects_lock);
    connection_->state->selects.remove(w);
}

}  // namespace weft::detail

namespace weft::net {

// ---- listeners

simulated_listener::~simulated_listener() { close(); }

simulated_stream simulated_listener::accept() {
    auto& s = *opened(door_, "weft: simulated accept")->state;
    guard lock(s.lock);
    s.changed.wait(lock, [&] { return door_->is_closed || !door_->waiting.empty(); });
    if (door_->is_closed) fail(std::errc::bad_file_descriptor, "weft: simulated accept");
    auto c = std::move(door_->waiting.front());
    door_->waiting.pop_front();
    return {std::move(c), 1};
}

simulated_stream simulated_listener::accept(std::error_code& error) {
    return reporting(error, [&] { return accept(); });
}

endpoint simulated_listener::local() const { return door_ ? door_->at : endpoint(); }

bool simulated_listener::is_open() const noexcept {
    if (!door_) return false;
    const guard lock(door_->state->lock);
    return !door_->is_closed;
}

void simulated_listener::close() noexcept {
    if (!door_) return;
    auto& s = *door_->state;
    const guard lock(s.lock);
    if (std::exchange(door_->is_closed, true)) return;
    for (auto& c : std::exchange(door_->waiting, {})) c->is_reset = true;
    s.doors.erase(door_->at);
    s.tell();
}

// ---- datagrams

simulated_socket::~simulated_socket() {
    if (!box_) return;
    const guard lock(box_->state->lock);
    box_->state->boxes.erase(box_->at);
}

void simulated_socket::send_to(const endpoint& to, std::span<const std::byte> bytes, std::error_code& error) {
    reporting(error, [&] { send_to(to, bytes); });
}

simulated_socket::datagram simulated_socket::receive(std::error_code& error) {
    return reporting(error, [&] { return receive(); });
}

void simulated_socket::send_to(const endpoint& to, std::span<const std::byte> bytes) {
    auto& s = *opened(box_, "weft: simulated send")->state;
    const guard lock(s.lock);
    if (s.is_cut(box_->at.host, to.host) || one_in(s.faults.lose_one_in)) return;
    const auto found = s.boxes.find(to);
    if (found == s.boxes.end()) return;
    for (int copies = one_in(s.faults.duplicate_one_in) ? 2 : 1; copies > 0; --copies)
        found->second->arriving.emplace(weft::now() + s.delay(), datagram{box_->at, {bytes.begin(), bytes.end()}});
    s.tell();
}

simulated_socket::datagram simulated_socket::receive() {
    auto& s = *opened(box_, "weft: simulated receive")->state;
    auto& arriving = box_->arriving;
    for (guard lock(s.lock);;) {
        if (arriving.empty()) {
            s.changed.wait(lock);
        } else if (const auto arrives = arriving.begin()->first; arrives > weft::now()) {
            s.changed.wait_until(lock, arrives);
        } else {
            auto next = std::move(arriving.begin()->second);
            arriving.erase(arriving.begin());
            return next;
        }
    }
}

// ---- the network

simulated_network::simulated_network(const network_faults& faults) : state_(std::make_shared<simulated_state>()) {
    state_->faults = faults;
}

void simulated_network::set_faults(const network_faults& faults) {
    const guard lock(state_->lock);
    state_->faults = faults;
}

void simulated_network::cut(const std::string& host, const std::string& other) {
    const guard lock(state_->lock);
    state_->cuts.insert(std::minmax(host, other));
}

void simulated_network::heal(const std::string& host, const std::string& other) {
    const guard lock(state_->lock);
    state_->cuts.erase(std::minmax(host, other));
    state_->tell();
}

void simulated_network::heal_all() {
    const guard lock(state_->lock);
    state_->cuts.clear();
    state_->tell();
}

simulated_listener simulated_network::listen(const endpoint& at) {
    const guard lock(state_->lock);
    if (state_->doors.contains(at)) fail(std::errc::address_in_use, "weft: simulated listen");
    return simulated_listener(state_->doors.emplace(at, new simulated_door{state_, at, {}, false}).first->second);
}

simulated_stream simulated_network::connect(const std::string& from, const endpoint& to) {
    auto& s = *state_;
    guard lock(s.lock);
    const auto travel = [&] {
        s.changed.wait(lock, [&] { return !s.is_cut(from, to.host); });
        const auto way = s.delay();
        lock.unlock();
        this_fiber::sleep_for(way);
        lock.lock();
    };
    travel();
    std::shared_ptr<simulated_connection> c;
    if (const auto found = s.doors.find(to); found != s.doors.end()) {
        c = std::make_shared<simulated_connection>(state_, endpoint{.host = from, .port = s.take_port()}, to);
        found->second->waiting.push_back(c);
        s.tell();
    }
    try {
        travel();
    } catch (...) {
        if (!lock.owns_lock()) lock.lock();
        if (c) c->is_reset = true;
        s.tell();
        throw;
    }
    if (!c) fail(std::errc::connection_refused, "weft: simulated connect");
    return {c, 0};
}

simulated_socket simulated_network::bind(const endpoint& at) {
    const guard lock(state_->lock);
    if (state_->boxes.contains(at)) fail(std::errc::address_in_use, "weft: simulated bind");
    return simulated_socket(state_->boxes.emplace(at, new simulated_box{state_, at, {}}).first->second);
}

simulated_listener simulated_network::listen(const endpoint& at, std::error_code& error) {
    return reporting(error, [&] { return listen(at); });
}

simulated_stream simulated_network::connect(const std::string& from, const endpoint& to, std::error_code& error) {
    return reporting(error, [&] { return connect(from, to); });
}

simulated_socket simulated_network::bind(const endpoint& at, std::error_code& error) {
    return reporting(error, [&] { return bind(at); });
}

}  // namespace weft::net

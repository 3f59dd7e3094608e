// simulated_network.cpp - one lock and one condition for a whole network: few fibers wait in it.
#include <weft/net/simulated_network.hpp>

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include <weft/condition_variable.hpp>
#include <weft/fiber.hpp>
#include <weft/mutex.hpp>
#include <weft/simulation.hpp>
#include <weft/stop.hpp>

#include "io/operation.hpp"

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
    bool is_ignored = false;  // the reader reads no more
};

struct simulated_state {
    weft::mutex lock;  // guards everything below, and everything that belongs to this network
    weft::condition_variable changed;
    net::network_faults faults;
    std::set<std::pair<std::string, std::string>> cuts;
    std::map<endpoint, std::shared_ptr<simulated_door>> doors;
    std::map<endpoint, std::shared_ptr<simulated_box>> boxes;

    bool is_cut(const std::string& a, const std::string& b) const { return cuts.contains(std::minmax(a, b)); }
    duration delay() const {
        const auto range = faults.most_delay - faults.least_delay;
        constexpr std::chrono::nanoseconds steps(1000);  // chosen: fine enough for any test
        return range <= range.zero() ? faults.least_delay : faults.least_delay + range * draw(steps.count() + 1) / steps.count();
    }
};

struct simulated_connection {
    simulated_connection(std::shared_ptr<simulated_state> s, const std::string& from, const std::string& to)
        : state(std::move(s)) {
        pipes[0].from = pipes[1].to = from;
        pipes[0].to = pipes[1].from = to;
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
        state->changed.notify_all();
    }

    const std::shared_ptr<simulated_state> state;
    // [0]: from the connecting side; [1]: from the accepting side
    simulated_pipe pipes[2];
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
using guard = std::unique_lock<weft::mutex>;

constexpr std::size_t most_under_way = 64 * 1024;  // chosen

bool one_in(std::uint32_t n) noexcept { return n != 0 && draw(n) == 0; }

[[noreturn]] void fail(std::errc why, const char* what) { throw std::system_error(std::make_error_code(why), what); }

template <class Operation>
std::size_t reporting(std::error_code& error, Operation&& operation) {
    error.clear();
    try {
        return operation();
    } catch (const cancelled&) {
        error = detail::interrupt_error(detail::interrupt_reason());
    } catch (const std::system_error& e) {
        error = e.code();
    }
    return 0;
}

std::size_t take(simulated_pipe& p, std::span<std::byte> into) {
    auto& first = p.pieces.front();
    const auto n = std::min(into.size(), first.bytes.size() - first.taken);
    std::copy_n(first.bytes.begin() + static_cast<std::ptrdiff_t>(first.taken), n, into.begin());
    first.taken += n;
    p.under_way -= n;
    // the end stays in the queue
    if (first.taken == first.bytes.size() && !first.bytes.empty()) p.pieces.pop_front();
    return n;
}

}  // namespace

// ---- streams

simulated_stream::simulated_stream(simulated_stream&& other) noexcept
    : connection_(std::move(other.connection_)), side_(other.side_) {}

simulated_stream& simulated_stream::operator=(simulated_stream&& other) noexcept {
    close();
    connection_ = std::move(other.connection_);
    side_ = other.side_;
    return *this;
}

simulated_stream::~simulated_stream() { close(); }

std::size_t simulated_stream::read_some(std::span<std::byte> into) {
    const auto c = connection_;
    if (!c) fail(std::errc::bad_file_descriptor, "weft: simulated read");
    if (into.empty()) return 0;
    auto& s = *c->state;
    auto& p = c->into(side_);
    for (guard lock(s.lock);;) {
        if (c->is_reset) fail(std::errc::connection_reset, "weft: simulated read");
        if (p.is_ignored) fail(std::errc::bad_file_descriptor, "weft: simulated read");
        if (p.pieces.empty() || s.is_cut(p.from, p.to)) {
            s.changed.wait(lock);
        } else if (const auto arrives = p.pieces.front().arrives; arrives > weft::now()) {
            s.changed.wait_until(lock, arrives);
        } else {
            const auto n = take(p, into);
            s.changed.notify_all();
            return n;
        }
    }
}

std::size_t simulated_stream::write_some(std::span<const std::byte> from) {
    const auto c = connection_;
    if (!c) fail(std::errc::bad_file_descriptor, "weft: simulated write");
    if (from.empty()) return 0;
    auto& s = *c->state;
    auto& p = c->out_of(side_);
    for (guard lock(s.lock);;) {
        if (c->is_reset) fail(std::errc::connection_reset, "weft: simulated write");
        if (p.is_ended || p.is_ignored) fail(std::errc::broken_pipe, "weft: simulated write");
        if (p.under_way >= most_under_way) {
            s.changed.wait(lock);
            continue;
        }
        if (one_in(s.faults.reset_one_in)) {
            c->is_reset = true;
            s.changed.notify_all();
            continue;
        }
        auto n = std::min(from.size(), most_under_way - p.under_way);
        if (one_in(s.faults.split_one_in)) n = 1 + draw(static_cast<std::uint32_t>(n));
        c->send(p, {from.begin(), from.begin() + static_cast<std::ptrdiff_t>(n)});
        return n;
    }
}

std::size_t simulated_stream::read_some(std::span<std::byte> into, std::error_code& error) {
    return reporting(error, [&] { return read_some(into); });
}

std::size_t simulated_stream::write_some(std::span<const std::byte> from, std::error_code& error) {
    return reporting(error, [&] { return write_some(from); });
}

void simulated_stream::shutdown_send() noexcept {
    if (!connection_) return;
    const guard lock(connection_->state->lock);
    connection_->end(connection_->out_of(side_));
}

void simulated_stream::close() noexcept {
    const auto c = std::move(connection_);
    if (!c) return;
    const guard lock(c->state->lock);
    c->end(c->out_of(side_));
    c->into(side_).is_ignored = true;
    c->state->changed.notify_all();
}

// ---- listeners

simulated_listener::~simulated_listener() {
    if (door_) close();
}

simulated_stream simulated_listener::accept() {
    auto& s = *door_->state;
    guard lock(s.lock);
    s.changed.wait(lock, [&] { return door_->is_closed || !door_->waiting.empty(); });
    if (door_->is_closed) fail(std::errc::bad_file_descriptor, "weft: simulated accept");
    auto c = std::move(door_->waiting.front());
    door_->waiting.pop_front();
    return {std::move(c), 1};
}

void simulated_listener::close() noexcept {
    auto& s = *door_->state;
    const guard lock(s.lock);
    if (std::exchange(door_->is_closed, true)) return;
    for (auto& c : std::exchange(door_->waiting, {})) c->is_reset = true;
    s.doors.erase(door_->at);
    s.changed.notify_all();
}

// ---- datagrams

simulated_socket::~simulated_socket() {
    if (!box_) return;
    const guard lock(box_->state->lock);
    box_->state->boxes.erase(box_->at);
}

void simulated_socket::send_to(const endpoint& to, std::span<const std::byte> bytes) {
    auto& s = *box_->state;
    const guard lock(s.lock);
    if (s.is_cut(box_->at.host, to.host) || one_in(s.faults.lose_one_in)) return;
    const auto found = s.boxes.find(to);
    if (found == s.boxes.end()) return;
    for (int copies = one_in(s.faults.duplicate_one_in) ? 2 : 1; copies > 0; --copies)
        found->second->arriving.emplace(weft::now() + s.delay(), datagram{box_->at, {bytes.begin(), bytes.end()}});
    s.changed.notify_all();
}

simulated_socket::datagram simulated_socket::receive() {
    auto& s = *box_->state;
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
    state_->changed.notify_all();
}

void simulated_network::heal_all() {
    const guard lock(state_->lock);
    state_->cuts.clear();
    state_->changed.notify_all();
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
        c = std::make_shared<simulated_connection>(state_, from, to.host);
        found->second->waiting.push_back(c);
        s.changed.notify_all();
    }
    try {
        travel();
    } catch (...) {
        if (!lock.owns_lock()) lock.lock();
        if (c) c->is_reset = true;
        s.changed.notify_all();
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

}  // namespace weft::net

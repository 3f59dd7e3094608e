#include "net/race.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/direct.hpp"
#include "io/current.hpp"
#include "io/poll_wait.hpp"
#include "sched/wait/wait.hpp"

namespace weft::detail {

constexpr wait_kind connect_wait{.name = "connect", .ends = ended_by::outside};

std::vector<socket_address> interleaved(const std::vector<net::endpoint>& addresses) {
    std::vector<socket_address> first, other, result;
    for (const auto& e : addresses) {
        const auto a = parse_numeric(e);
        if (!a) continue;
        (first.empty() || first.front().family() == a->family() ? first : other).push_back(*a);
    }
    for (std::size_t i = 0; i < std::max(first.size(), other.size()); ++i) {
        if (i < first.size()) result.push_back(first[i]);
        if (i < other.size()) result.push_back(other[i]);
    }
    return result;
}

io_handle connect_race::run(std::error_code& error) {
    for (;;) {
        if (const auto interrupt = pending_interrupt()) {
            error = interrupt_error(*interrupt);
            return {};
        }
        start_what_is_due();
        if (auto winner = take_winner()) {
            error.clear();
            return winner;
        }
        if (running_.empty() && next_ == addresses_.size()) {
            error = last_error_;
            return {};
        }
        if (running_.empty() || next_start_ <= clock::now()) continue;
        if (wait_for_progress() == readiness::interrupted) {
            error = interrupt_error(interrupt_reason());
            return {};
        }
    }
}

void connect_race::start_what_is_due() {
    while (may_start() && (running_.empty() || next_start_ <= clock::now())) {
        start(addresses_[next_++]);
        next_start_ = running_.empty() ? clock::now() : deadline_after(stagger_);  // RACE-1
    }
    if (!may_start()) next_start_ = never;
}

void connect_race::start(const socket_address& to) {
    auto s = make_tcp_socket(to.family(), use::here);
    if (s.error) return fail(s.error);
    const int fd = s.handle.native();
    const long r = direct::connect(fd, to.get(), to.size);
    if (r < 0 && r != -EINPROGRESS && r != -EINTR) return fail(failure(r));
    running_.push_back({.handle = std::move(s.handle)});
}

void connect_race::drop(std::size_t i) {
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
    next_start_ = may_start() ? clock::now() : never;  // RACE-1
}

io_handle connect_race::take_winner() {
    for (std::size_t i = 0; i < running_.size();) {
        switch (look_at(running_[i])) {
            case progress::connected: return std::move(running_[i].handle);  // RACE-3
            case progress::pending: ++i; break;
            case progress::failed: drop(i); break;
        }
    }
    return {};
}

connect_race::progress connect_race::look_at(attempt& a) noexcept {
    a.seen = a.handle.get()->events(io_direction::write);  // before looking (SOURCE-4)
    const int fd = a.handle.native();
    pollfd wanted = poll_request(fd, io_direction::write);
    if (direct::poll(&wanted, 1, {}) <= 0) return progress::pending;
    int problem = 0;
    socklen_t size = sizeof problem;
    const long r = system_result([&] { return ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &problem, &size); });
    if (r == 0 && problem == 0) return progress::connected;
    fail(r < 0 ? failure(r) : std::error_code(problem, std::system_category()));
    return progress::failed;
}

readiness connect_race::wait_for_progress() {
    if (!current_io()) return poll_for_progress();
    for (std::size_t i = 0; i < running_.size(); ++i) {
        const long refused = running_[i].handle.get()->attach();
        if (refused == 0) continue;
        fail(failure(refused));
        drop(i);
        return readiness::again;
    }
    return park_for_progress();
}

readiness connect_race::park_for_progress() noexcept {
    wait w({.kind = connect_wait, .object = this, .deadline = next_start_});
    std::array<std::optional<waiter>, most_at_once> waiters;
    bool all_linked = true;
    for (std::size_t i = 0; i < running_.size() && all_linked; ++i) {
        waiters[i].emplace(w.cell(), w.ticket());
        all_linked = running_[i].handle.get()->enlist(*waiters[i], io_direction::write, running_[i].seen);
    }
    const bool given_up = !all_linked && w.abandon();
    const auto how = given_up ? wait_end::notified : w.park();
    for (std::size_t i = 0; i < running_.size() && waiters[i]; ++i)
        running_[i].handle.get()->delist(*waiters[i], io_direction::write);
    return how == wait_end::stopped ? readiness::interrupted : readiness::again;
}

readiness connect_race::poll_for_progress() noexcept {
    std::array<pollfd, most_at_once> wanted;
    for (std::size_t i = 0; i < running_.size(); ++i) wanted[i] = poll_request(running_[i].handle.native(), io_direction::write);
    return poll_descriptors(std::span(wanted).first(running_.size()), next_start_);
}

}  // namespace weft::detail

#include "net/accepting.hpp"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdio>
#include <new>

#include "base/direct.hpp"
#include "base/fork.hpp"
#include "base/seldom.hpp"
#include "io/poll_wait.hpp"
#include "net/socket.hpp"
#include "sched/wait/wait.hpp"

namespace weft::detail {
namespace {

constexpr wait_kind accept_wait{.name = "accept", .ends = ended_by::outside};

/// The connection failed before it was accepted: accept(2) reports this, and the next call
/// continues.
bool lost_in_the_queue(std::error_code e) noexcept {
    constexpr int lost[] = {ECONNABORTED, EPROTO,       EPERM,      ENETDOWN,    ENOPROTOOPT, EHOSTDOWN,
                            ENONET,       EHOSTUNREACH, EOPNOTSUPP, ENETUNREACH, ETIMEDOUT};
    return e.category() == std::system_category() && std::find(std::begin(lost), std::end(lost), e.value()) != std::end(lost);
}

// chosen: more connections than were ever lost in a row; then accept4 itself is refused, and permanently
constexpr unsigned refused_after = 1000;

long accept_one(int fd) noexcept { return direct::accept(fd, SOCK_NONBLOCK | SOCK_CLOEXEC); }

/// Takes the next connection. An accept4() that finds no connection makes a socket first and discards it, and
/// takes many times as long as poll(2). So the second attempt after a wait, which mostly finds no connection,
/// asks poll(2) first. If there is one, more will follow, so the later attempts do not ask.
long accept_next_of(const io_source& from, int fd) noexcept {
    if (from.has_one_since_wait()) {
        pollfd look = poll_request(fd, io_direction::read);
        if (direct::poll(&look, 1, {}) == 0) return -EAGAIN;  // not if poll(2) fails, with whatever errno
    }
    return accept_one(fd);
}

/// The handle for what accept_one() has returned. An error: there is no memory for it.
io_handle adopt_accepted(std::size_t fd, unsigned forks_then, std::error_code& error) {
    new_socket s = adopt(static_cast<int>(fd), forks_then);
    if (s.error) error = std::error_code(ENOMEM, std::system_category());
    return std::move(s.handle);
}

/// The process or the system has run out of a resource, which may become available again.
bool exhausted(std::error_code e) noexcept {
    constexpr int scarce[] = {EMFILE, ENFILE, ENOBUFS, ENOMEM};
    return e.category() == std::system_category() &&
           std::find(std::begin(scarce), std::end(scarce), e.value()) != std::end(scarce);
}

/// Prints one line on stderr, at most one in five seconds for the whole process.
void complain(const net::endpoint& at, std::error_code e) noexcept try {
    static seldom lines;
    if (!lines.pass(clock::now())) return;
    std::fprintf(stderr, "weft: accept on %s: %s; trying again until it passes\n", to_string(at).c_str(), e.message().c_str());
} catch (const std::bad_alloc&) {
    std::fputs("weft: accept: no memory; trying again until it passes\n", stderr);
}

std::error_code check_option(int fd, int option, int expected, std::errc otherwise) noexcept {
    int value = 0;
    socklen_t size = sizeof value;
    const long r = system_result([&] { return ::getsockopt(fd, SOL_SOCKET, option, &value, &size); });
    if (r < 0) return failure(r);
    return value == expected ? std::error_code() : std::make_error_code(otherwise);
}

/// Pauses between the attempts of one accept() when a resource has run out.
class back_off {
public:
    /// \parks    for the next pause.
    /// \returns  why the caller was interrupted, if it was.
    std::error_code pause() noexcept {
        wait w({.kind = accept_wait, .deadline = deadline_after(next_)});
        next_ = std::min(2 * next_, longest);
        return w.park() == wait_end::stopped ? interrupt_error(interrupt_reason()) : std::error_code();
    }

private:
    // chosen: a peer hardly notices this delay
    static constexpr std::chrono::milliseconds longest{100};
    // chosen: a connection that ends frees what is missing
    std::chrono::milliseconds next_{10};
};

}  // namespace

io_handle accept_next(io_source* from, const net::endpoint& at, std::error_code& error) {
    unsigned lost_in_a_row = 0;
    back_off pauses;
    for (;;) {
        unsigned forks_then = 0;
        const auto taken = perform(from, io_direction::read, accept_wait, [&](int fd) {
            forks_then = fork_count();
            return accept_next_of(*from, fd);
        });
        error = taken.error;
        if (!error) {
            auto handle = adopt_accepted(taken.count, forks_then, error);
            if (!error) return handle;
        }
        const bool lost = lost_in_the_queue(error);
        if (lost && ++lost_in_a_row < refused_after) continue;
        if (!lost && !exhausted(error)) return {};
        complain(at, error);
        error = pauses.pause();
        if (error) return {};
    }
}

io_handle accept_waiting(io_source* from, std::error_code& error) {
    for (unsigned lost_in_a_row = 0;;) {
        const unsigned forks_then = fork_count();
        const auto taken = perform_now(from, accept_one);
        error = taken.error;
        if (!error) {
            auto handle = adopt_accepted(taken.count, forks_then, error);
            if (!error) return handle;
        }
        if (lost_in_the_queue(error) && ++lost_in_a_row < refused_after) continue;
        if (error == std::errc::operation_would_block) error.clear();
        return {};
    }
}

std::error_code prepare_listening(int fd, int protocol, int type) noexcept {
    auto error = check_option(fd, SO_PROTOCOL, protocol, std::errc::protocol_not_supported);
    if (!error) error = check_option(fd, SO_TYPE, type, std::errc::protocol_not_supported);
    if (!error) error = check_option(fd, SO_ACCEPTCONN, 1, std::errc::invalid_argument);
    if (error) return error;
    const long flags = direct::fcntl(fd, F_GETFL);
    if (flags < 0) return failure(flags);
    long r = direct::fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    if (r >= 0) r = direct::fcntl(fd, F_SETFD, FD_CLOEXEC);
    return r < 0 ? failure(r) : std::error_code();
}

}  // namespace weft::detail

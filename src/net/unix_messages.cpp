#include "net/unix_messages.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/direct.hpp"
#include "base/fork.hpp"
#include "io/refused_here.hpp"
#include "net/socket.hpp"
#include "net/stream_forms.hpp"
#include "net/unix_address.hpp"
#include "sched/wait/wait.hpp"

namespace weft::detail {
namespace {

// A queue that is full ends by the listener's act, of which no event tells.
constexpr wait_kind unix_connect_wait{.name = "unix connect", .ends = ended_by::outside};

constexpr std::size_t most_descriptors = 253;  // required: SCM_MAX_FD of the kernel

/// Room for the largest message about descriptors, aligned as the system wants it.
struct control_room {
    alignas(cmsghdr) std::byte bytes[CMSG_SPACE(most_descriptors * sizeof(int))];
};

msghdr message_of(iovec& part, control_room& control, std::size_t descriptors) noexcept {
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (descriptors == 0) return message;
    message.msg_control = control.bytes;
    // Not CMSG_SPACE, which would have room for one descriptor more.
    message.msg_controllen = CMSG_LEN(descriptors * sizeof(int));
    return message;
}

/// Makes owners of what came, beyond `into`'s room for them too: there is none, by message_of().
void take_descriptors(msghdr& message, std::vector<unix_socket::owned_descriptor>& into) noexcept {
    for (cmsghdr* c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
        const std::size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < n; ++i) {
            int fd;
            std::memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
            into.emplace_back(fd);
        }
    }
}

}  // namespace

io_result send_with_descriptors(io_source* s, std::span<const std::byte> bytes, std::span<const int> descriptors) {
    if (bytes.empty() || descriptors.size() > most_descriptors) return {0, std::make_error_code(std::errc::invalid_argument)};
    iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};  // sendmsg() only reads it
    control_room control;
    const msghdr message = message_of(part, control, descriptors.size());
    if (!descriptors.empty()) {
        cmsghdr* const header = CMSG_FIRSTHDR(&message);
        header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
    }
    return perform(s, io_direction::write, write_wait, [&](int fd) { return direct::sendmsg(fd, message, MSG_NOSIGNAL); });
}

received_message receive_with_descriptors(io_source* s, std::span<std::byte> into, std::size_t most, std::error_code& error) {
    received_message result;
    most = std::min(most, most_descriptors);
    result.got.descriptors.reserve(most);  // before anything is received: an exception would lose it
    iovec part{into.data(), into.size()};
    control_room control;
    msghdr message{};
    const auto r = perform(s, io_direction::read, read_wait, [&](int fd) {
        message = message_of(part, control, most);
        return direct::recvmsg(fd, message, MSG_CMSG_CLOEXEC);
    });
    error = r.error;
    if (error) return result;
    if (most != 0) take_descriptors(message, result.got.descriptors);
    result.got.count = r.count;
    result.got.descriptors_lost = (message.msg_flags & MSG_CTRUNC) != 0;
    result.cut = (message.msg_flags & MSG_TRUNC) != 0;
    return result;
}

io_handle connect_to(const unix_socket::address& to, int type, std::error_code& error) {
    using namespace std::chrono_literals;
    const auto at = to_system(to);
    if (const auto interrupt = pending_interrupt()) {
        error = interrupt_error(*interrupt);
        return {};
    }
    auto made = make_unix_socket(type, use::here);
    error = made.error;
    if (error) return {};
    for (std::chrono::milliseconds pause = 1ms;;
         pause = std::min(2 * pause, 50ms)) {  // chosen: a busy server accepts within some ms
        const long r = direct::connect(made.handle.native(), at.get(), at.size);
        if (r == 0) return std::move(made.handle);
        if (r == -EINTR) continue;
        if (r != -EAGAIN) {
            error = failure(r);
            return {};
        }
        wait w({.kind = unix_connect_wait, .deadline = deadline_after(pause)});
        if (w.park() != wait_end::stopped) continue;
        error = interrupt_error(interrupt_reason());
        return {};
    }
}

std::pair<io_handle, io_handle> socket_pair(int type) {
    refuse_here("weft: pair of Unix sockets");
    const unsigned forks_then = fork_count();
    int fds[2];
    const long r = system_result([&] { return ::socketpair(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds); });
    if (r < 0) throw std::system_error(failure(r), "weft: pair of Unix sockets");
    auto one = adopt(fds[0], forks_then), other = adopt(fds[1], forks_then);
    if (one.error || other.error) throw std::bad_alloc();
    return {std::move(one.handle), std::move(other.handle)};
}

unix_socket::credentials peer_of(io_source* s, std::error_code& error) noexcept {
    ucred c{};
    error = with_descriptor(s, [&](int fd) {
        socklen_t size = sizeof c;
        const long r = system_result([&] { return ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c, &size); });
        return r < 0 ? failure(r) : std::error_code();
    });
    if (error) return {};
    return {.process = c.pid, .user = c.uid, .group = c.gid};
}

}  // namespace weft::detail

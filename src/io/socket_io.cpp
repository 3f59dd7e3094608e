#include "io/socket_io.hpp"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>

#include "base/direct.hpp"
#include "base/system_call.hpp"

namespace weft::detail {
namespace {

// Without a call in between where that can be (direct.hpp): most of a server's calls are these two.
long receive(int fd, std::span<std::byte> into) noexcept {
#if WEFT_CALLS_DIRECTLY
    return system_call(SYS_recvfrom, fd, system_argument(into.data()), static_cast<long>(into.size()), 0, 0, 0);
#else
    return direct::recv(fd, into.data(), into.size(), 0);
#endif
}
long send(int fd, std::span<const std::byte> from) noexcept {
#if WEFT_CALLS_DIRECTLY
    return system_call(SYS_sendto, fd, system_argument(from.data()), static_cast<long>(from.size()), MSG_NOSIGNAL, 0, 0);
#else
    return direct::send(fd, from.data(), from.size(), MSG_NOSIGNAL);
#endif
}

/// Converts the part of `pieces` after the first `done` bytes into iovecs, as far as they fit.
/// Returns how many.
std::size_t remaining(std::span<const std::span<const std::byte>> pieces, std::size_t done, std::span<iovec> out) noexcept {
    std::size_t n = 0;
    for (auto piece : pieces) {
        if (n == out.size()) break;
        const auto skipped = std::min(done, piece.size());
        done -= skipped;
        piece = piece.subspan(skipped);
        // sendmsg() only reads it
        if (!piece.empty()) out[n++] = {const_cast<std::byte*>(piece.data()), piece.size()};
    }
    return n;
}

/// Less than was asked for means that no more was there. The end of the stream (0) is permanent; it
/// is read again each time.
after_attempt what_is_left(long got, std::size_t asked) noexcept {
    return got > 0 && static_cast<std::size_t>(got) < asked ? after_attempt::drained : after_attempt::try_again;
}

}  // namespace

io_result receive_some(io_source* s, std::span<std::byte> into) noexcept {
    if (into.empty()) return {};
    return perform(
        s, io_direction::read, read_wait, [&](int fd) { return receive(fd, into); },
        [&](long got) { return what_is_left(got, into.size()); });
}

io_result receive_late(io_source* s, late_buffer& buffer) noexcept {
    std::size_t asked = 0;
    return perform(
        s, io_direction::read, read_wait,
        [&](int fd) {
            const auto into = buffer.take();
            asked = into.size();
            const long got = into.empty() ? -ENOMEM : receive(fd, into);
            if (got <= 0) buffer.give_back();
            return got;
        },
        [&](long got) { return what_is_left(got, asked); });
}

io_result try_receive_some(io_source* s, std::span<std::byte> into) noexcept {
    if (into.empty()) return {};
    return perform_now(s, [&](int fd) { return receive(fd, into); });
}

io_result peek_some(io_source* s, std::span<std::byte> into) noexcept {
    return perform(s, io_direction::read, read_wait,
                   [&](int fd) { return direct::recv(fd, into.data(), into.size(), MSG_PEEK); });
}

std::error_code wait_readable(io_source* s) noexcept {
    std::byte one[1];
    return peek_some(s, one).error;
}

io_result receive_all(io_source* s, std::span<std::byte> into) noexcept {
    std::size_t done = 0;
    while (done < into.size()) {
        const auto r = receive_some(s, into.subspan(done));
        if (r.error) return {done, r.error};
        if (r.count == 0) return {done, std::make_error_code(std::errc::connection_aborted)};
        done += r.count;
    }
    return {done, {}};
}

io_result send_some(io_source* s, std::span<const std::byte> from) noexcept {
    if (from.empty()) return {};
    return perform(s, io_direction::write, write_wait, [&](int fd) { return send(fd, from); });
}

io_result try_send_some(io_source* s, std::span<const std::byte> from) noexcept {
    if (from.empty()) return {};
    return perform_now(s, [&](int fd) { return send(fd, from); });
}

io_result send_all(io_source* s, std::span<const std::byte> from) noexcept {
    std::size_t done = 0;
    while (done < from.size()) {
        const auto r = send_some(s, from.subspan(done));
        if (r.error) return {done, r.error};
        done += r.count;
    }
    return {done, {}};
}

io_result send_pieces(io_source* s, std::span<const std::span<const std::byte>> pieces) noexcept {
    std::size_t done = 0;
    for (;;) {
        std::array<iovec, 16> parts;  // chosen: 256 bytes of stack
        msghdr message{};
        message.msg_iov = parts.data();
        message.msg_iovlen = remaining(pieces, done, parts);
        if (message.msg_iovlen == 0) return {done, {}};
        const auto r = perform(s, io_direction::write, write_wait,
                               [&](int fd) { return direct::sendmsg(fd, message, MSG_NOSIGNAL); });
        if (r.error) return {done, r.error};
        done += r.count;
    }
}

std::error_code shut_down(io_source* s, io::side which) noexcept {
    const int how = which == io::side::receive ? SHUT_RD : which == io::side::send ? SHUT_WR : SHUT_RDWR;
    return perform_now(s, [&](int fd) { return system_result([&] { return ::shutdown(fd, how); }); }).error;
}

}  // namespace weft::detail

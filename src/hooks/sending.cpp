#include "hooks/sending.hpp"

#include <netinet/in.h>

#include <algorithm>

#include "hooks/entry.hpp"

namespace weft::hooks {
namespace {

long send_pieces(int fd, const msghdr& message, pieces& rest, int flags) noexcept {
    msghdr m = message;
    m.msg_iov = const_cast<iovec*>(rest.data());
    m.msg_iovlen = rest.size();
    return direct(SYS_sendmsg, fd, &m, flags);
}

}  // namespace

long send_message(fiber_call& call, int fd, const msghdr& message, int flags, long r, std::size_t sent) noexcept {
    msghdr m = message;
    pieces rest(message.msg_iov, message.msg_iovlen);
    const auto taken = [&](std::size_t bytes) {
        m.msg_control = nullptr;  // it went with the first byte
        m.msg_controllen = 0;
        rest.skip(bytes);
        return rest.empty();
    };
    if (sent > 0 && taken(sent)) return static_cast<long>(sent);
    return send_on(
        call, fd, flags, r, [&](int f) { return send_pieces(fd, m, rest, f); }, taken,
        [&] { return send_pieces(fd, m, rest, flags); }, sent);
}

long send_rest(fiber_call& call, int fd, pieces rest, long first) noexcept {
    const msghdr plain{};
    return send_on(
        call, fd, 0, first, [&](int f) { return send_pieces(fd, plain, rest, f); },
        [&](std::size_t bytes) {
            rest.skip(bytes);
            return rest.empty();
        },
        [&] { return send_pieces(fd, plain, rest, 0); });
}

}  // namespace weft::hooks

using namespace weft::hooks;

namespace {

using send_type = ssize_t(int, const void*, std::size_t, int);

[[gnu::always_inline]] inline ssize_t send_to(const char* name, const void* caller, int fd, const void* from, std::size_t bytes,
                                              int flags, const sockaddr* to, socklen_t size) {
    return enter(
        name, caller, fd,
        [&](fiber_call& call) -> ssize_t {
            std::size_t done = 0;
            const auto attempt = [&](int f) {
                return direct(SYS_sendto, fd, static_cast<const char*>(from) + done, bytes - done, f, to, size);
            };
            const auto taken = [&](std::size_t n) { return (done += n) >= bytes; };
            return give(send_on(call, fd, flags, attempt(flags | MSG_DONTWAIT), attempt, taken, [&] { return attempt(flags); }));
        },
        [&] {
            if (!to)
                return call_real_or<"send", send_type>([&] { return give(direct(SYS_sendto, fd, from, bytes, flags)); }, fd, from,
                                                       bytes, flags);
            return call_real<"sendto", ssize_t(int, const void*, std::size_t, int, const sockaddr*, socklen_t), SYS_sendto>(
                fd, from, bytes, flags, to, size);
        });
}

/// What a message holds, as far as it was sent.
std::size_t size_of(const msghdr& m) noexcept {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < m.msg_iovlen; ++i) bytes += m.msg_iov[i].iov_len;
    return bytes;
}

/// Sends them one after the other; the last may be sent only in part. \returns how many.
long send_messages(fiber_call& call, int fd, mmsghdr* messages, unsigned count, int flags) noexcept {
    constexpr unsigned most = 1024;  // the kernel's limit
    count = std::min(count, most);
    unsigned done = 0;
    while (done < count) {
        const long r = direct(SYS_sendmmsg, fd, messages + done, count - done, flags | MSG_DONTWAIT);
        if (r < 0 && r != -EAGAIN) return part_or(done, r);
        if (r <= 0) {  // the next one has to wait
            auto& m = messages[done];
            const long sent = send_message(call, fd, m.msg_hdr, flags, -EAGAIN);
            if (sent < 0) return part_or(done, sent);
            m.msg_len = static_cast<unsigned>(sent);
            ++done;
        } else {
            done += static_cast<unsigned>(r);
            auto& last = messages[done - 1];
            const auto all = size_of(last.msg_hdr);
            if (last.msg_len == all) continue;
            last.msg_len = static_cast<unsigned>(send_message(call, fd, last.msg_hdr, flags, -EAGAIN, last.msg_len));
        }
        const auto& m = messages[done - 1];
        if (m.msg_len != size_of(m.msg_hdr)) break;
    }
    return done;
}

}  // namespace

extern "C" {
#pragma GCC visibility push(default)
ssize_t send(int fd, const void* from, std::size_t bytes, int flags) {
    return send_to("send", WEFT_CALLER, fd, from, bytes, flags, nullptr, 0);
}
ssize_t __send(int fd, const void* from, std::size_t bytes, int flags) {
    return send_to("send", WEFT_CALLER, fd, from, bytes, flags, nullptr, 0);
}
ssize_t sendto(int fd, const void* from, std::size_t bytes, int flags, const sockaddr* to, socklen_t size) {
    return send_to("sendto", WEFT_CALLER, fd, from, bytes, flags, to, size);
}

ssize_t sendmsg(int fd, const msghdr* message, int flags) {
    return enter(
        "sendmsg", WEFT_CALLER, fd,
        [&](fiber_call& call) -> ssize_t {
            const long r = direct(SYS_sendmsg, fd, message, flags | MSG_DONTWAIT);  // the kernel reads the message first
            if (r < 0 && r != -EAGAIN) return give(r);
            return give(send_message(call, fd, *message, flags, r));
        },
        [&] { return call_real<"sendmsg", ssize_t(int, const msghdr*, int), SYS_sendmsg>(fd, message, flags); });
}

int sendmmsg(int fd, mmsghdr* messages, unsigned count, int flags) {
    return enter(
        "sendmmsg", WEFT_CALLER, fd,
        [&](fiber_call& call) -> int { return static_cast<int>(give(send_messages(call, fd, messages, count, flags))); },
        [&] { return call_real<"sendmmsg", int(int, mmsghdr*, unsigned, int), SYS_sendmmsg>(fd, messages, count, flags); });
}
#pragma GCC visibility pop
}

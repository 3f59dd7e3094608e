#include "net/socket.hpp"

#include <netinet/in.h>
#include <unistd.h>

#include "base/direct.hpp"
#include "base/fork.hpp"
#include "io/refused_here.hpp"
#include "io/source_pool.hpp"

namespace weft::detail {

namespace {

new_socket make_socket(int family, int type, int protocol, use how) noexcept {
    if (const auto error = refused_here()) return {{}, error};
    const unsigned forks_then = how == use::here ? fork_count() : perhaps_shared;
    const long fd = system_result([&] { return ::socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol); });
    if (fd < 0) return {{}, failure(fd)};
    return adopt(static_cast<int>(fd), forks_then);
}

}  // namespace

new_socket make_tcp_socket(int family, use how) noexcept { return make_socket(family, SOCK_STREAM, IPPROTO_TCP, how); }

new_socket make_unix_socket(int type, use how) noexcept { return make_socket(AF_UNIX, type, 0, how); }

new_socket make_udp_socket(int family) noexcept { return make_socket(family, SOCK_DGRAM, IPPROTO_UDP, use::here); }

new_socket adopt(int fd, unsigned forks_then) noexcept {
    if (io_source* const s = make_source(fd, forks_then)) return {io_handle(s), {}};
    direct::close(fd);
    return {{}, std::make_error_code(std::errc::not_enough_memory)};
}

std::error_code set_option(int fd, int level, int option, int value) noexcept {
    const long r = system_result([&] { return ::setsockopt(fd, level, option, &value, sizeof value); });
    return r < 0 ? failure(r) : std::error_code();
}

}  // namespace weft::detail

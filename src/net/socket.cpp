#include "net/socket.hpp"

#include <netinet/in.h>
#include <unistd.h>

#include "base/direct.hpp"
#include "base/fork.hpp"
#include "io/refused_here.hpp"
#include "io/source_pool.hpp"

namespace weft::detail {

namespace {

new_socket make_socket(int family, int protocol, unsigned forks_then) noexcept {
    if (const auto error = refused_here()) return {{}, error};
    const long fd = system_result([&] { return ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol); });
    if (fd < 0) return {{}, failure(fd)};
    return adopt(static_cast<int>(fd), forks_then);
}

}  // namespace

new_socket make_tcp_socket(int family, use how) noexcept {
    return make_socket(family, IPPROTO_TCP, how == use::here ? fork_count() : perhaps_shared);
}

new_socket make_unix_socket() noexcept { return make_socket(AF_UNIX, 0, fork_count()); }

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

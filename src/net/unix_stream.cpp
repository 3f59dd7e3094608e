// unix_stream.cpp - connects a Unix socket, and moves bytes as every socket does.
#include "net/unix_stream.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <stdexcept>

#include <weft/fiber.hpp>

#include "base/direct.hpp"
#include "io/socket_io.hpp"
#include "net/socket.hpp"

namespace weft::detail {

namespace {

std::optional<std::size_t> tried(io_result r, std::error_code& error) noexcept {
    const bool would_wait = r.error == std::errc::operation_would_block;
    error = would_wait ? std::error_code() : r.error;
    return would_wait ? std::nullopt : std::optional(r.count);
}

struct unix_address {
    sockaddr_un name{};
    socklen_t size = 0;
};

unix_address address_of(const std::string& path) {
    unix_address a;
    a.name.sun_family = AF_UNIX;
    // The system wants a zero behind the path.
    if (path.empty() || path.size() >= sizeof a.name.sun_path || path.find('\0') != std::string::npos)
        throw std::invalid_argument("weft: the path of a Unix socket has 1 to " + std::to_string(sizeof a.name.sun_path - 1) +
                                    " bytes and no zero byte");
    std::ranges::copy(path, a.name.sun_path);
    a.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
    return a;
}

}  // namespace

std::size_t unix_stream::read_some(std::span<std::byte> into) {
    return value_or_throw(receive_some(handle_.get(), into), "weft: read");
}

std::size_t unix_stream::read_some(std::span<std::byte> into, std::error_code& error) {
    return report(receive_some(handle_.get(), into), error);
}

std::optional<std::size_t> unix_stream::try_read_some(std::span<std::byte> into, std::error_code& error) {
    return tried(try_receive_some(handle_.get(), into), error);
}

void unix_stream::wait_readable(std::error_code& error) { error = detail::wait_readable(handle_.get()); }

std::size_t unix_stream::write_some(std::span<const std::byte> from) {
    return value_or_throw(send_some(handle_.get(), from), "weft: write");
}

std::size_t unix_stream::write_some(std::span<const std::byte> from, std::error_code& error) {
    return report(send_some(handle_.get(), from), error);
}

std::optional<std::size_t> unix_stream::try_write_some(std::span<const std::byte> from, std::error_code& error) {
    return tried(try_send_some(handle_.get(), from), error);
}

std::size_t unix_stream::write_all(std::span<const std::span<const std::byte>> pieces, std::error_code& error) {
    return report(send_pieces(handle_.get(), pieces), error);
}

void unix_stream::shutdown(io::side which, std::error_code& error) { error = shut_down(handle_.get(), which); }

io::byte_stream connect_unix(const std::string& path) {
    using namespace std::chrono_literals;
    const auto to = address_of(path);
    auto made = make_unix_socket();
    const auto fail = [&](std::error_code e) { throw_io_error(e, ("weft: connect to " + path).c_str()); };
    if (made.error) fail(made.error);
    const int fd = made.handle.native();
    // A Unix socket connects at once or not at all: readiness does not tell when the queue of the
    // server has room again.
    for (auto pause = 1ms;; pause = std::min(2 * pause, 50ms)) {  // chosen: a busy server accepts within some ms
        const long r = direct::connect(fd, reinterpret_cast<const sockaddr*>(&to.name), to.size);
        if (r == 0) break;
        if (r != -EAGAIN && r != -EINTR) fail(failure(r));
        this_fiber::sleep_for(pause);
    }
    return unix_stream(std::move(made.handle));
}

}  // namespace weft::detail

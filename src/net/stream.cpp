// stream.cpp - tcp::stream over the socket operations of the I/O layer, except connect().
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>

#include <weft/net/tcp.hpp>

#include "io/reporting.hpp"
#include "io/socket_io.hpp"
#include "net/socket.hpp"
#include "net/stream_forms.hpp"

namespace weft::tcp {
namespace {

using detail::count_or_throw;
using detail::io_source;
using detail::read_through;
using detail::report_try;
using detail::throw_if;
using detail::with_descriptor;

constexpr const char* reading = "weft: read";
constexpr const char* writing = "weft: write";

/// With `reset`, closing drops what is not sent and resets the connection.
std::error_code set_linger(io_source* s, bool reset) noexcept {
    return with_descriptor(s, [&](int fd) {
        const linger how{.l_onoff = reset, .l_linger = 0};
        const long r = detail::system_result([&] { return ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &how, sizeof how); });
        return r < 0 ? detail::failure(r) : std::error_code();
    });
}

}  // namespace

std::size_t stream::read_some(std::span<std::byte> into) {
    return value_or_throw(detail::receive_some(handle_.get(), into), reading);
}
std::size_t stream::read_some(std::span<std::byte> into, std::error_code& error) {
    return report(detail::receive_some(handle_.get(), into), error);
}

void stream::read_exact(std::span<std::byte> into) {
    value_or_throw(detail::receive_all(handle_.get(), into), "weft: read to a given length");
}
std::size_t stream::read_exact(std::span<std::byte> into, std::error_code& error) {
    return report(detail::receive_all(handle_.get(), into), error);
}

std::string stream::read_until(std::string_view delimiter, std::size_t max) {
    std::string text;
    value_or_throw(read_through(handle_.get(), delimiter, max, text), "weft: read to a delimiter");
    return text;
}
std::string stream::read_until(std::string_view delimiter, std::size_t max, std::error_code& error) {
    std::string text;
    report(read_through(handle_.get(), delimiter, max, text), error);
    return text;
}

void stream::wait_readable() { throw_if(detail::wait_readable(handle_.get()), reading); }
void stream::wait_readable(std::error_code& error) { error = detail::wait_readable(handle_.get()); }

std::size_t stream::write_some(std::span<const std::byte> from) {
    return value_or_throw(detail::send_some(handle_.get(), from), writing);
}
std::size_t stream::write_some(std::span<const std::byte> from, std::error_code& error) {
    return report(detail::send_some(handle_.get(), from), error);
}

void stream::write_all(std::span<const std::byte> from) { value_or_throw(detail::send_all(handle_.get(), from), writing); }
std::size_t stream::write_all(std::span<const std::byte> from, std::error_code& error) {
    return report(detail::send_all(handle_.get(), from), error);
}

void stream::write_all(std::span<const std::span<const std::byte>> pieces) {
    value_or_throw(detail::send_pieces(handle_.get(), pieces), writing);
}
std::size_t stream::write_all(std::span<const std::span<const std::byte>> pieces, std::error_code& error) {
    return report(detail::send_pieces(handle_.get(), pieces), error);
}

std::optional<std::size_t> stream::try_read_some(std::span<std::byte> into) {
    return count_or_throw(detail::try_receive_some(handle_.get(), into), reading);
}
std::optional<std::size_t> stream::try_read_some(std::span<std::byte> into, std::error_code& error) noexcept {
    return report_try(detail::try_receive_some(handle_.get(), into), error);
}

std::optional<std::size_t> stream::try_write_some(std::span<const std::byte> from) {
    return count_or_throw(detail::try_send_some(handle_.get(), from), writing);
}
std::optional<std::size_t> stream::try_write_some(std::span<const std::byte> from, std::error_code& error) noexcept {
    return report_try(detail::try_send_some(handle_.get(), from), error);
}

void stream::abort() noexcept {
    set_linger(handle_.get(), true);
    close();
}

std::size_t stream::unacknowledged() const noexcept { return detail::queued_to_send(handle_.get()); }

void stream::shutdown(side which) {
    std::error_code error;
    shutdown(which, error);
    throw_if(error, "weft: shutdown");
}

void stream::shutdown(side which, std::error_code& error) noexcept { error = detail::shut_down(handle_.get(), which); }

net::endpoint stream::local() const {
    const detail::operation_guard guard(handle_.get());
    return detail::local_endpoint(guard ? handle_.get()->descriptor() : -1);
}

net::endpoint stream::remote() const {
    const detail::operation_guard guard(handle_.get());
    return detail::remote_endpoint(guard ? handle_.get()->descriptor() : -1);
}

net::endpoint stream::local(std::error_code& error) const {
    return detail::reporting(error, [&] { return local(); });
}

net::endpoint stream::remote(std::error_code& error) const {
    return detail::reporting(error, [&] { return remote(); });
}

void stream::set_no_delay(bool on, std::error_code& error) noexcept {
    error = with_descriptor(handle_.get(), [&](int fd) { return detail::set_option(fd, IPPROTO_TCP, TCP_NODELAY, on); });
}
void stream::set_no_delay(bool on) {
    std::error_code error;
    set_no_delay(on, error);
    throw_if(error, "weft: set_no_delay");
}

void stream::set_keep_alive(std::chrono::seconds idle, std::error_code& error) noexcept {
    const auto set = [&](int fd) {
        if (idle <= std::chrono::seconds::zero()) return detail::set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 0);
        // The system's limit
        const auto seconds = static_cast<int>(std::min<std::chrono::seconds::rep>(idle.count(), 32767));
        const auto refused = detail::set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, seconds);
        return refused ? refused : detail::set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    };
    error = with_descriptor(handle_.get(), set);
}
void stream::set_keep_alive(std::chrono::seconds idle) {
    std::error_code error;
    set_keep_alive(idle, error);
    throw_if(error, "weft: set_keep_alive");
}

void stream::set_reset_on_close(bool on, std::error_code& error) noexcept { error = set_linger(handle_.get(), on); }
void stream::set_reset_on_close(bool on) { throw_if(set_linger(handle_.get(), on), "weft: set_reset_on_close"); }

}  // namespace weft::tcp

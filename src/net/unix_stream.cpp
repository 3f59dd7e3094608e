// unix_stream.cpp - unix_socket::stream over the socket operations of the I/O layer.
#include <sys/socket.h>

#include <weft/net/unix.hpp>

#include "base/direct.hpp"
#include "io/reporting.hpp"
#include "io/socket_io.hpp"
#include "net/stream_forms.hpp"
#include "net/unix_address.hpp"
#include "net/unix_messages.hpp"

namespace weft::unix_socket {
namespace {

using detail::count_or_throw;
using detail::read_through;
using detail::report_try;
using detail::throw_if;

constexpr const char* reading = "weft: read";
constexpr const char* writing = "weft: write";

}  // namespace

owned_descriptor::~owned_descriptor() {
    if (fd_ >= 0) detail::direct::close(fd_);
}

stream stream::connect(const address& to, std::error_code& error) { return stream(detail::connect_to(to, SOCK_STREAM, error)); }

stream stream::connect(const address& to) {
    std::error_code error;
    stream s = connect(to, error);
    if (error) detail::throw_io_error(error, ("weft: connect to " + to_string(to.endpoint())).c_str());
    return s;
}

std::pair<stream, stream> pair() {
    auto [one, other] = detail::socket_pair(SOCK_STREAM);
    return {stream(std::move(one)), stream(std::move(other))};
}

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

std::size_t stream::send(std::span<const std::byte> bytes, std::span<const int> descriptors) {
    return value_or_throw(detail::send_with_descriptors(handle_.get(), bytes, descriptors), writing);
}
std::size_t stream::send(std::span<const std::byte> bytes, std::span<const int> descriptors, std::error_code& error) {
    return report(detail::send_with_descriptors(handle_.get(), bytes, descriptors), error);
}

received stream::receive(std::span<std::byte> into, std::size_t max_descriptors, std::error_code& error) {
    return detail::receive_with_descriptors(handle_.get(), into, max_descriptors, error).got;
}
received stream::receive(std::span<std::byte> into, std::size_t max_descriptors) {
    std::error_code error;
    auto got = receive(into, max_descriptors, error);
    throw_if(error, reading);
    return got;
}

unix_socket::credentials stream::credentials(std::error_code& error) const noexcept {
    return detail::peer_of(handle_.get(), error);
}
unix_socket::credentials stream::credentials() const {
    std::error_code error;
    const auto c = credentials(error);
    throw_if(error, "weft: credentials");
    return c;
}

}  // namespace weft::unix_socket

// descriptor.cpp - io::descriptor: waits and transfers, with poll(2) first in blocking mode.
#include <weft/io/descriptor.hpp>

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <new>

#include "base/direct.hpp"
#include "io/operation.hpp"
#include "io/pipe.hpp"
#include "io/poll_wait.hpp"
#include "io/refused_here.hpp"
#include "io/reporting.hpp"
#include "io/socket_io.hpp"
#include "io/source_pool.hpp"

namespace weft::io {
namespace {

using namespace weft::detail;

static_assert(readable<descriptor> && writable<descriptor>);

long checked(long result, const char* what) {
    if (result < 0) throw std::system_error(failure(result), what);
    return result;
}

void check_kind(int fd) {
    refuse_here("weft: descriptor");
    struct stat is {};
    checked(system_result([&] { return ::fstat(fd, &is); }), "weft: descriptor");
    if (S_ISREG(is.st_mode) || S_ISDIR(is.st_mode) || S_ISBLK(is.st_mode))
        throw std::system_error(std::make_error_code(std::errc::invalid_argument),
                                "weft: a file on a disk is always ready: read and write it in weft::blocking");
}

std::error_code wait_for(io_source* s, io_direction way, const wait_kind& kind) noexcept {
    return perform(s, way, kind, [way](int fd) { return poll_now(fd, way); }).error;
}

/// A descriptor in blocking mode is polled first, since the call itself would block the thread.
template <class Transfer>
io_result transfer(io_source* s, io_direction way, const wait_kind& kind, bool may_block, Transfer&& attempt) noexcept {
    return perform(s, way, kind, [&](int fd) {
        const long ready = may_block ? poll_now(fd, way) : 0;
        return ready < 0 ? ready : attempt(fd);
    });
}

io_result read_from(io_source* s, bool may_block, std::span<std::byte> into) noexcept {
    return transfer(s, io_direction::read, read_wait, may_block,
                    [&](int fd) { return direct::read(fd, into.data(), into.size()); });
}

io_result write_to(io_source* s, bool may_block, std::span<const std::byte> from) noexcept {
    // poll() says writable only if this much fits.
    if (may_block && from.size() > PIPE_BUF) from = from.first(PIPE_BUF);
    return transfer(s, io_direction::write, write_wait, may_block,
                    [&](int fd) { return write_without_signal(fd, from); });
}

}  // namespace

descriptor descriptor::adopt(int fd) {
    check_kind(fd);
    const long mode = checked(direct::fcntl(fd, F_GETFL), "weft: descriptor");
    if ((mode & O_NONBLOCK) == 0)
        checked(direct::fcntl(fd, F_SETFL, mode | O_NONBLOCK), "weft: descriptor");
    if (auto* const s = make_source(fd)) return descriptor(io_handle(s), false);
    throw std::bad_alloc();
}

// Uses a duplicate, since an epoll accepts a descriptor only once, and the owner may close its own
// at any time.
descriptor descriptor::borrow(int fd) {
    check_kind(fd);
    const long mode = checked(direct::fcntl(fd, F_GETFL), "weft: descriptor");
    const long mine = checked(direct::fcntl(fd, F_DUPFD_CLOEXEC, 3), "weft: descriptor");
    return descriptor(own_descriptor(static_cast<int>(mine)), (mode & O_NONBLOCK) == 0);
}

descriptor descriptor::adopt(int fd, std::error_code& error) {
    return reporting(error, [&] { return adopt(fd); });
}

descriptor descriptor::borrow(int fd, std::error_code& error) {
    return reporting(error, [&] { return borrow(fd); });
}

void descriptor::wait_readable(std::error_code& error) { error = wait_for(handle_.get(), io_direction::read, read_wait); }
void descriptor::wait_writable(std::error_code& error) {
    error = wait_for(handle_.get(), io_direction::write, write_wait);
}

void descriptor::wait_readable() {
    std::error_code error;
    wait_readable(error);
    if (error) throw_io_error(error, "weft: wait for a descriptor");
}

void descriptor::wait_writable() {
    std::error_code error;
    wait_writable(error);
    if (error) throw_io_error(error, "weft: wait for a descriptor");
}

std::size_t descriptor::read_some(std::span<std::byte> into) {
    return value_or_throw(read_from(handle_.get(), may_block_, into), "weft: read from a descriptor");
}
std::size_t descriptor::read_some(std::span<std::byte> into, std::error_code& error) {
    return report(read_from(handle_.get(), may_block_, into), error);
}

std::size_t descriptor::write_some(std::span<const std::byte> from) {
    return value_or_throw(write_to(handle_.get(), may_block_, from), "weft: write to a descriptor");
}
std::size_t descriptor::write_some(std::span<const std::byte> from, std::error_code& error) {
    return report(write_to(handle_.get(), may_block_, from), error);
}

void descriptor::shutdown(side which) {
    std::error_code error;
    shutdown(which, error);
    if (error) throw_io_error(error, "weft: shutdown");
}

void descriptor::shutdown(side which, std::error_code& error) noexcept { error = shut_down(handle_.get(), which); }

void descriptor::write_all(std::span<const std::byte> from) { io::write_all(*this, from); }
std::size_t descriptor::write_all(std::span<const std::byte> from, std::error_code& error) {
    return io::write_all(*this, from, error);
}

}  // namespace weft::io

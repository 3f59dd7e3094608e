// file_copy.cpp - sendfile(2) of a file, whose cold pieces are read ahead where that stalls no fiber.
#include <weft/io/file.hpp>

#include <algorithm>

#include "io/current.hpp"
#include "io/files/file_source.hpp"
#include "io/files/perform_file.hpp"
#include "io/send_file.hpp"

namespace weft::io {
namespace {

using namespace weft::detail;
using what = file_request::what;

constexpr std::uint64_t piece = 256 * 1024;  // chosen: what a disk reads in one go

bool is_cold(int fd, std::uint64_t at) noexcept {
    std::byte one;
    return would_wait({.action = what::read, .descriptor = fd, .memory = &one, .bytes = 1, .offset = at});
}

/// Waits until the piece is in the page cache, so that sendfile(2) does not wait for the disk on a thread
/// that runs fibers. What fails here fails there again.
std::error_code bring_in(int fd, std::uint64_t offset, std::uint64_t bytes) noexcept {
    if (!current_files()) return {};
    const auto last = offset + bytes - 1;
    if (!is_cold(fd, offset) && !is_cold(fd, last)) return {};
    std::error_code interrupt;
    static_cast<void>(perform_file({.action = what::read_ahead, .descriptor = fd, .bytes = bytes, .offset = offset}, interrupt));
    // The pages come in their order, so the last one comes last.
    std::byte one;
    if (!interrupt)
        static_cast<void>(
            perform_file({.action = what::read, .descriptor = fd, .memory = &one, .bytes = 1, .offset = last}, interrupt));
    return interrupt;
}

}  // namespace

bool file::send(io_source& to, std::uint64_t offset, std::uint64_t length, std::uint64_t& sent, std::error_code& error) const {
    const operation_guard guard(handle_.get());
    if (!guard) return error = closed_error(), true;
    const int fd = handle_.get()->descriptor();
    const auto size_now = size(error);
    if (error) return true;
    // What has no size, such as a file of /proc, is read instead.
    if (offset >= size_now) return size_now != 0;
    const auto whole = std::min(length, size_now - offset);
    while (sent < whole) {
        const auto most = std::min(whole - sent, piece);
        if ((error = bring_in(fd, offset + sent, most))) return true;
        const auto moved = send_piece(to, fd, offset + sent, most);
        if (moved.error && is_no_sendfile(moved.error)) return false;
        if ((error = moved.error) || moved.count == 0) return true;
        sent += moved.count;
    }
    return true;
}

}  // namespace weft::io

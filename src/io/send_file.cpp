// send_file.cpp - sendfile(2) into a socket, and reading and writing into any other stream.
#include "io/send_file.hpp"

#include <sys/sendfile.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <new>

#include "base/direct.hpp"
#include "io/operation.hpp"
#include "io/without_pipe_signal.hpp"

namespace weft::detail {
namespace {

// chosen: other fibers of the worker wait meanwhile if the file has to come from a disk
constexpr std::uint64_t piece_of_file = 256 * 1024;

std::error_code file_error() noexcept { return std::make_error_code(std::errc::io_error); }

std::uint64_t send_by_system(io_source& to, int file, std::uint64_t offset, std::uint64_t bytes,
                             std::error_code& error) noexcept {
    std::uint64_t sent = 0;
    while (sent < bytes) {
        const auto moved = send_piece(to, file, offset + sent, std::min(bytes - sent, piece_of_file));
        error = moved.error ? moved.error : moved.count == 0 ? file_error() : std::error_code();
        if (error) break;
        sent += moved.count;
    }
    return sent;
}

std::uint64_t send_by_copy(io::byte_stream& to, int file, std::uint64_t offset, std::uint64_t bytes, std::error_code& error) {
    // chosen: two records of TLS; with more, malloc() gives memory back to the system after each file
    constexpr std::uint64_t most_at_a_time = 32 * 1024;
    const auto size = static_cast<std::size_t>(std::min(bytes, most_at_a_time));
    const std::unique_ptr<std::byte[]> room(new (std::nothrow) std::byte[size]);
    if (!room) error = std::make_error_code(std::errc::not_enough_memory);
    std::uint64_t sent = 0;
    while (!error && sent < bytes) {
        const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(bytes - sent, size));
        const long n = system_result([&] { return ::pread(file, room.get(), most, static_cast<off_t>(offset + sent)); });
        if (n == -EINTR) continue;
        if (n <= 0) {
            error = file_error();
            break;
        }
        sent += to.write_all({room.get(), static_cast<std::size_t>(n)}, error);
    }
    return sent;
}

}  // namespace

bool is_no_sendfile(std::error_code e) noexcept {
    return e == std::errc::invalid_argument || e == std::errc::function_not_supported || e == std::errc::operation_not_permitted;
}

io_result send_piece(io_source& to, int file, std::uint64_t offset, std::uint64_t most) noexcept {
    return perform(&to, io_direction::write, write_wait, [&](int fd) {
        auto from = static_cast<off_t>(offset);
        return without_pipe_signal(static_cast<std::size_t>(most),
                                   [&] { return direct::sendfile(fd, file, from, static_cast<std::size_t>(most)); });
    });
}

std::uint64_t send_file(io::byte_stream& to, int file, std::uint64_t offset, std::uint64_t bytes, std::error_code& error) {
    error.clear();
    if (auto* const s = source_of(to)) {
        const auto sent = send_by_system(*s, file, offset, bytes, error);
        if (!is_no_sendfile(error)) return sent;
        error.clear();
        return sent + send_by_copy(to, file, offset + sent, bytes - sent, error);
    }
    return send_by_copy(to, file, offset, bytes, error);
}

}  // namespace weft::detail

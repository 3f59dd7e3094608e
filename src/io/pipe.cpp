// pipe.cpp - read(2) and write(2) on pipes; a writer without readers gets EPIPE and no signal.
#include "io/pipe.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <new>

#include <weft/io/pipe.hpp>
#include <weft/io/stream.hpp>

#include "base/direct.hpp"
#include "io/operation.hpp"
#include "io/poll_wait.hpp"
#include "io/refused_here.hpp"
#include "io/reporting.hpp"
#include "io/source_pool.hpp"
#include "io/without_pipe_signal.hpp"

namespace weft::detail {

long write_without_signal(int fd, std::span<const std::byte> from) noexcept {
    return without_pipe_signal(from.size(), [&] { return direct::write(fd, from.data(), from.size()); });
}

namespace {

io_result read_pipe(io_source* s, std::span<std::byte> into) noexcept {
    return perform(s, io_direction::read, read_wait,
                   [&](int fd) { return direct::read(fd, into.data(), into.size()); });
}

io_result write_pipe(io_source* s, std::span<const std::byte> from) noexcept {
    return perform(s, io_direction::write, write_wait, [&](int fd) { return write_without_signal(fd, from); });
}

}  // namespace

std::array<int, 2> new_pipe() {
    refuse_here("weft: pipe");
    std::array<int, 2> ends{};
    const long result = system_result([&] { return ::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK); });
    if (result < 0) throw std::system_error(failure(result), "weft: pipe");
    return ends;
}

io_handle own_descriptor(int fd) {
    if (auto* const s = make_source(fd)) return io_handle(s);
    direct::close(fd);
    throw std::bad_alloc();
}

}  // namespace weft::detail

namespace weft::io {

using namespace weft::detail;

static_assert(readable<pipe_reader> && writable<pipe_writer>);

std::size_t pipe_reader::read_some(std::span<std::byte> into) {
    return value_or_throw(read_pipe(handle_.get(), into), "weft: read from a pipe");
}
std::size_t pipe_reader::read_some(std::span<std::byte> into, std::error_code& error) {
    return report(read_pipe(handle_.get(), into), error);
}

void pipe_reader::wait_readable() {
    std::error_code error;
    wait_readable(error);
    if (error) throw_io_error(error, "weft: wait for a pipe");
}
void pipe_reader::wait_readable(std::error_code& error) {
    const auto look = [](int fd) { return poll_now(fd, io_direction::read); };
    error = perform(handle_.get(), io_direction::read, read_wait, look).error;
}

std::size_t pipe_writer::write_some(std::span<const std::byte> from) {
    return value_or_throw(write_pipe(handle_.get(), from), "weft: write to a pipe");
}
std::size_t pipe_writer::write_some(std::span<const std::byte> from, std::error_code& error) {
    return report(write_pipe(handle_.get(), from), error);
}

void pipe_writer::write_all(std::span<const std::byte> from) { io::write_all(*this, from); }
std::size_t pipe_writer::write_all(std::span<const std::byte> from, std::error_code& error) {
    return io::write_all(*this, from, error);
}

pipe::pipe() { open(); }

pipe::pipe(std::error_code& error) {
    reporting(error, [&] { open(); });
    if (error) reader.close();
}

void pipe::open() {
    const auto ends = new_pipe();
    try {
        reader = pipe_reader(own_descriptor(ends[0]));
    } catch (...) {
        direct::close(ends[1]);
        throw;
    }
    writer = pipe_writer(own_descriptor(ends[1]));
}

}  // namespace weft::io

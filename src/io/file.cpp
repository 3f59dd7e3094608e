// file.cpp - io::file: opened, read, written, synced; files/ says how an operation is made.
#include <weft/io/file.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <new>

#include "base/direct.hpp"
#include "io/files/file_source.hpp"
#include "io/files/perform_file.hpp"
#include "io/source_pool.hpp"

namespace weft::io {
namespace {

using namespace weft::detail;
using action = file_request::what;

static_assert(readable<file_cursor> && writable<file_cursor>);

bool has(open_mode mode, open_mode flag) noexcept {
    return (static_cast<std::uint32_t>(mode) & static_cast<std::uint32_t>(flag)) != 0;
}

int flags_of(open_mode mode) noexcept {
    int flags = O_CLOEXEC;
    if (has(mode, open_mode::write)) flags |= has(mode, open_mode::read) ? O_RDWR : O_WRONLY;
    if (has(mode, open_mode::create)) flags |= O_CREAT;
    if (has(mode, open_mode::exclusive)) flags |= O_EXCL;
    if (has(mode, open_mode::trunc)) flags |= O_TRUNC;
    if (has(mode, open_mode::append)) flags |= O_APPEND;
    if (has(mode, open_mode::direct)) flags |= O_DIRECT;
    if (has(mode, open_mode::no_follow)) flags |= O_NOFOLLOW;
    return flags;
}

page_cache cache_of(bool direct) noexcept { return direct ? page_cache::direct : page_cache::asked_first; }

void throw_if(std::error_code error, const char* what) {
    if (error) throw_io_error(error, what);
}

/// For calls on an open file that io_uring has no entry for.
template <class F>
std::error_code on_descriptor(io_source* s, const char* name, F&& call) noexcept {
    const operation_guard guard(s);
    if (!guard) return closed_error();
    std::error_code error;
    const long result = call_for_files(
        name, s->descriptor(), [&] { return call(s->descriptor()); }, error);
    return error_of(result, error);
}

std::error_code too_large(std::uint64_t bytes) noexcept {
    return bytes <= last_offset ? std::error_code() : std::make_error_code(std::errc::file_too_large);
}

}  // namespace

file file::open(const std::string& path, open_mode mode, unsigned permissions, std::error_code& error) {
    error = check_path(path);
    if (!error && !has(mode, open_mode::read | open_mode::write)) error = std::make_error_code(std::errc::invalid_argument);
    if (error) return {};
    const file_request asked{
        .action = action::open, .memory = const_cast<char*>(path.c_str()), .flags = flags_of(mode), .mode = permissions};
    const long fd = perform_file(asked, error);
    if ((error = error_of(fd, error))) return {};
    if (auto* const s = make_source(static_cast<int>(fd))) return file(io_handle(s), has(mode, open_mode::direct));
    direct::close(static_cast<int>(fd));
    error = std::make_error_code(std::errc::not_enough_memory);
    return {};
}

file file::open(const std::string& path, open_mode mode, unsigned permissions) {
    std::error_code error;
    auto opened = open(path, mode, permissions, error);
    if (error) throw_path_error(error, "open", path);
    return opened;
}

file file::adopt(int fd, std::error_code& error) {
    const long flags = direct::fcntl(fd, F_GETFL);
    if ((error = error_of(flags, {}))) return {};
    if (auto* const s = make_source(fd)) return file(io_handle(s), (flags & O_DIRECT) != 0);
    error = std::make_error_code(std::errc::not_enough_memory);
    return {};
}

file file::adopt(int fd) {
    std::error_code error;
    auto adopted = adopt(fd, error);
    throw_if(error, "weft: adopt a file");
    return adopted;
}

std::size_t file::read_at(std::span<std::byte> into, std::uint64_t offset, std::error_code& error) const {
    return report(read_file(handle_.get(), cache_of(direct_), into, offset), error);
}
std::size_t file::read_at(std::span<std::byte> into, std::uint64_t offset) const {
    return value_or_throw(read_file(handle_.get(), cache_of(direct_), into, offset), "weft: read a file");
}

std::size_t file::write_at(std::span<const std::byte> from, std::uint64_t offset, std::error_code& error) {
    return report(write_file(handle_.get(), cache_of(direct_), from, offset), error);
}
void file::write_at(std::span<const std::byte> from, std::uint64_t offset) {
    static_cast<void>(value_or_throw(write_file(handle_.get(), cache_of(direct_), from, offset), "weft: write a file"));
}

void file::sync(sync_mode what, std::error_code& error) {
    error = perform_on_file(handle_.get(),
                            {.action = what == sync_mode::data ? action::sync_data : action::sync_all});
}
void file::sync(sync_mode what) {
    std::error_code error;
    sync(what, error);
    throw_if(error, "weft: sync a file");
}

std::uint64_t file::size(std::error_code& error) const {
    struct stat is {};
    const operation_guard guard(handle_.get());
    error = guard ? error_of(system_result([&] { return ::fstat(handle_.get()->descriptor(), &is); }), {}) : closed_error();
    return error ? 0 : static_cast<std::uint64_t>(is.st_size);
}
std::uint64_t file::size() const {
    std::error_code error;
    const auto bytes = size(error);
    throw_if(error, "weft: size of a file");
    return bytes;
}

void file::truncate(std::uint64_t bytes, std::error_code& error) {
    if ((error = too_large(bytes))) return;
    error = on_descriptor(handle_.get(), "ftruncate",
                          [&](int fd) { return system_result([&] { return ::ftruncate(fd, static_cast<off_t>(bytes)); }); });
}
void file::truncate(std::uint64_t bytes) {
    std::error_code error;
    truncate(bytes, error);
    throw_if(error, "weft: truncate a file");
}

void file::allocate(std::uint64_t bytes, std::error_code& error) {
    if ((error = too_large(bytes)) || bytes == 0) return;
    error = perform_on_file(handle_.get(), {.action = action::allocate, .bytes = bytes});
}
void file::allocate(std::uint64_t bytes) {
    std::error_code error;
    allocate(bytes, error);
    throw_if(error, "weft: allocate room for a file");
}

std::size_t file_cursor::read_some(std::span<std::byte> into, std::error_code& error) {
    const auto n = file_.read_at(into, offset_, error);
    offset_ += n;
    return n;
}
std::size_t file_cursor::read_some(std::span<std::byte> into) {
    const auto n = file_.read_at(into, offset_);
    offset_ += n;
    return n;
}

std::size_t file_cursor::write_some(std::span<const std::byte> from, std::error_code& error) {
    const auto n = file_.write_at(from, offset_, error);
    offset_ += n;
    return n;
}
std::size_t file_cursor::write_some(std::span<const std::byte> from) {
    file_.write_at(from, offset_);
    offset_ += from.size();
    return from.size();
}

}  // namespace weft::io

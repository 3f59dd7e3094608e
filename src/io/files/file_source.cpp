#include "io/files/file_source.hpp"

#include <algorithm>

#include "base/in_quotes.hpp"
#include "io/files/perform_file.hpp"

namespace weft::detail {
namespace {

using what = file_request::what;

// required: no disk has smaller blocks, so a direct read that does not end at one has met the end
constexpr std::uint64_t least_block = 512;

std::error_code check_range(std::uint64_t offset, std::uint64_t bytes) noexcept {
    if (offset > last_offset) return std::make_error_code(std::errc::invalid_argument);
    if (bytes > last_offset - offset) return std::make_error_code(std::errc::value_too_large);
    return {};
}

long made(const file_request& r, page_cache cache, std::error_code& error) noexcept {
    return cache == page_cache::asked_first ? perform_file_at_once(r, error) : perform_file(r, error);
}

/// Makes one request after another until all is moved, or a result is not above zero.
io_result move_pieces(io_source* s, page_cache cache, file_request r, std::uint64_t bytes) noexcept {
    if (const auto error = check_range(r.offset, bytes)) return {0, error};
    if (const auto interrupt = pending_interrupt()) return {0, interrupt_error(*interrupt)};
    const operation_guard guard(s);
    if (!guard) return {0, closed_error()};
    r.descriptor = s->descriptor();
    std::size_t done = 0;
    while (done < bytes) {
        r.bytes = std::min(bytes - done, most_at_once);
        std::error_code error;
        const long n = made(r, cache, error);
        if (const auto failed = error_of(n, error)) return {done, failed};
        if (n == 0) break;
        const auto moved = static_cast<std::uint64_t>(n);
        done += moved;
        r.memory = static_cast<std::byte*>(r.memory) + moved;
        r.offset += moved;
        if (cache == page_cache::direct && r.offset % least_block != 0) break;
    }
    if (s->had_its_share()) let_others_run();
    return {done, {}};
}

}  // namespace

io_result read_file(io_source* s, page_cache cache, std::span<std::byte> into, std::uint64_t offset) noexcept {
    return move_pieces(s, cache, {.action = what::read, .memory = into.data(), .offset = offset}, into.size());
}

io_result write_file(io_source* s, page_cache cache, std::span<const std::byte> from, std::uint64_t offset) noexcept {
    auto* const memory = const_cast<std::byte*>(from.data());  // a request has one kind of pointer; a write only reads
    const auto r = move_pieces(s, cache, {.action = what::write, .memory = memory, .offset = offset}, from.size());
    // A system that writes nothing and names no error would be asked for ever.
    if (!r.error && r.count < from.size()) return {r.count, std::make_error_code(std::errc::io_error)};
    return r;
}

std::error_code perform_on_file(io_source* s, file_request r) noexcept {
    const operation_guard guard(s);
    if (!guard) return closed_error();
    r.descriptor = s->descriptor();
    std::error_code error;
    const long result = perform_file(r, error);
    return error_of(result, error);
}

std::error_code check_path(const std::string& path) noexcept {
    return path.find('\0') == path.npos ? std::error_code() : std::make_error_code(std::errc::invalid_argument);
}

void throw_path_error(std::error_code error, const char* what, const std::string& path) {
    throw_io_error(error, ("weft: " + std::string(what) + " " + in_quotes(path)).c_str());
}

}  // namespace weft::detail

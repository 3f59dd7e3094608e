// file_source.hpp - operations on an open file, for the sources of this layer that know its descriptor.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <system_error>

#include "io/files/file_request.hpp"
#include "io/operation.hpp"

namespace weft::detail {

/// asked_first: what it has is read at once. direct: nothing goes through it (O_DIRECT).
enum class page_cache : bool { direct, asked_first };

/// Reads until `into` is full or the file ends; the count is what was read, also on failure.
io_result read_file(io_source*, page_cache, std::span<std::byte> into, std::uint64_t offset) noexcept;
io_result write_file(io_source*, page_cache, std::span<const std::byte> from, std::uint64_t offset) noexcept;

/// An operation without a buffer, on an open file.
std::error_code perform_on_file(io_source*, file_request) noexcept;

/// invalid_argument if the system would cut the path, at a zero byte.
std::error_code check_path(const std::string& path) noexcept;

/// The error of a result or of an interrupt.
inline std::error_code error_of(long result, std::error_code interrupt) noexcept {
    return interrupt ? interrupt : result < 0 ? failure(result) : std::error_code();
}

/// Throws what throw_io_error() does: "weft: open "name"".
[[noreturn]] void throw_path_error(std::error_code error, const char* what, const std::string& path);

}  // namespace weft::detail

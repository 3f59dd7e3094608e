// file_request.hpp - one operation on a file, as data: it is made by a system call, or by io_uring.
#pragma once

#include <cstddef>
#include <cstdint>

struct io_uring_sqe;

namespace weft::detail {

struct file_request {
    enum class what : std::uint8_t { read, write, sync_data, sync_all, open, allocate, read_ahead };

    what action;
    int descriptor = -1;
    void* memory = nullptr;  // of a read or a write; a path of open, which is not written to
    std::uint64_t bytes = 0;  // no more than most_at_once
    std::uint64_t offset = 0;
    int flags = 0;  // of open
    unsigned mode = 0;  // of open
};

// required: an entry of io_uring has 32 bits, and the kernel reads and writes less than 2 GiB
inline constexpr std::uint64_t most_at_once = std::uint64_t{1} << 30;
// required: offsets of the kernel have a sign
inline constexpr std::uint64_t last_offset = (std::uint64_t{1} << 63) - 1;

/// As dumps name it: "read".
const char* name(file_request::what) noexcept;

/// Makes the system call, which may block the thread. \returns the result, or a negated error.
long call(const file_request&) noexcept;

/// Makes the call only if the kernel can make it without waiting. -EAGAIN: it would wait. -EOPNOTSUPP: the
/// kernel cannot tell, or there is no such form of the call.
long call_without_waiting(const file_request&) noexcept;

/// Fills an entry of io_uring, but for its user data.
void fill(io_uring_sqe& entry, const file_request&) noexcept;

}  // namespace weft::detail

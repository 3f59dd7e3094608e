#include "io/files/file_request.hpp"

#include <fcntl.h>
#include <linux/io_uring.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include "base/system_call.hpp"

namespace weft::detail {
namespace {

using what = file_request::what;

const char* path_of(const file_request& r) noexcept { return static_cast<const char*>(r.memory); }
off_t offset_of(const file_request& r) noexcept { return static_cast<off_t>(r.offset); }

}  // namespace

const char* name(what action) noexcept {
    switch (action) {
        case what::read: return "read";
        case what::write: return "write";
        case what::sync_data: return "fdatasync";
        case what::sync_all: return "fsync";
        case what::open: return "open";
        case what::allocate: return "fallocate";
        case what::read_ahead: return "readahead";
    }
    return "?";
}

long call(const file_request& r) noexcept {
    switch (r.action) {
        case what::read: return system_result([&] { return ::pread(r.descriptor, r.memory, r.bytes, offset_of(r)); });
        case what::write: return system_result([&] { return ::pwrite(r.descriptor, r.memory, r.bytes, offset_of(r)); });
        case what::sync_data: return system_result([&] { return ::fdatasync(r.descriptor); });
        case what::sync_all: return system_result([&] { return ::fsync(r.descriptor); });
        case what::open: return system_result([&] { return ::openat(AT_FDCWD, path_of(r), r.flags, r.mode); });
        case what::allocate:
            return system_result([&] { return ::fallocate(r.descriptor, 0, offset_of(r), static_cast<off_t>(r.bytes)); });
        case what::read_ahead:
            return system_result([&] { return ::readahead(r.descriptor, offset_of(r), static_cast<std::size_t>(r.bytes)); });
    }
    return -EINVAL;
}

long call_without_waiting(const file_request& r) noexcept {
    const iovec one{.iov_base = r.memory, .iov_len = static_cast<std::size_t>(r.bytes)};
    switch (r.action) {
        case what::read: return system_result([&] { return ::preadv2(r.descriptor, &one, 1, offset_of(r), RWF_NOWAIT); });
        case what::write: return system_result([&] { return ::pwritev2(r.descriptor, &one, 1, offset_of(r), RWF_NOWAIT); });
        default: return -EOPNOTSUPP;
    }
}

void fill(io_uring_sqe& e, const file_request& r) noexcept {
    e = {};
    e.fd = r.descriptor;
    e.addr = reinterpret_cast<std::uintptr_t>(r.memory);
    e.len = static_cast<std::uint32_t>(r.bytes);
    e.off = r.offset;
    switch (r.action) {
        case what::read: e.opcode = IORING_OP_READ; break;
        case what::write: e.opcode = IORING_OP_WRITE; break;
        case what::sync_data: e.fsync_flags = IORING_FSYNC_DATASYNC; [[fallthrough]];
        case what::sync_all: e.opcode = IORING_OP_FSYNC; break;
        case what::open:
            e.opcode = IORING_OP_OPENAT;
            e.fd = AT_FDCWD;
            e.len = r.mode;
            e.open_flags = static_cast<std::uint32_t>(r.flags);
            e.flags = IOSQE_ASYNC;  // the kernel would try with O_NONBLOCK first, and then a FIFO does not wait
            break;
        case what::allocate:
            e.opcode = IORING_OP_FALLOCATE;
            e.addr = r.bytes;  // the kernel takes the length from here, and the mode from len
            e.len = 0;
            break;
        case what::read_ahead:
            e.opcode = IORING_OP_FADVISE;
            e.fadvise_advice = POSIX_FADV_WILLNEED;
            break;
    }
}

}  // namespace weft::detail

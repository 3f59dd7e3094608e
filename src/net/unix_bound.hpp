// unix_bound.hpp - opens a listening Unix socket, and minds the file that it has made.
//
// Invariants
//   UNIX_BOUND-1  A file is removed only if it is a socket, and either a connection to it was refused, so
//                 that nobody listens on it, or this process has made it, and its inode is still that one.
//   UNIX_BOUND-2  The owner removes the file while its socket listens. So another process that looks
//                 whether the file is stale finds a listener, and cannot have put its own there meanwhile.
//
// Not promised: two processes that find the same stale file at once. One may remove what the other has
// just made, between its look and its unlink; there is no call that unlinks an inode.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include <weft/net/unix.hpp>

#include "base/atomic.hpp"

namespace weft::detail {

/// The file of a socket. Forked children have a copy, which does nothing.
class bound_path {
public:
    /// After bind().
    explicit bound_path(std::string path) noexcept;
    bound_path(const bound_path&) = delete;
    bound_path& operator=(const bound_path&) = delete;

    /// Removes the file, once, if it is still that one (UNIX_BOUND-1).
    void remove() noexcept;

private:
    const std::string path_;
    const pid_t maker_;
    dev_t device_ = 0;
    ino_t inode_ = 0;
    atomic<bool> removed_{false};
};

struct bound_socket {
    io_handle handle;
    net::endpoint at;
    std::shared_ptr<bound_path> path;  ///< null for an abstract name
};

/// Throws std::system_error, which names the endpoint, or std::invalid_argument.
bound_socket open_bound(const unix_socket::address& at, const unix_socket::listener_options& options, int type);

}  // namespace weft::detail

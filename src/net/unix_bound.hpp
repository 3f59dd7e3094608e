// unix_bound.hpp - opens a listening Unix socket, and minds the file that it has made.
//
// Invariants
//   UNIX_BOUND-1  A file is removed only if it is a socket, and either a connection to it was refused, so
//                 that nobody listens on it, or this process has made it, and its inode is still that one.
//                 A program that takes this process's place by exec is told which file it was.
//   UNIX_BOUND-2  The owner removes the file while its socket listens. So another process that looks
//                 whether the file is stale finds a listener, and cannot have put its own there meanwhile.
//
// Not promised: two processes that find the same stale file at once. One may remove what the other has
// just made, between its look and its unlink; there is no call that unlinks an inode.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <utility>

#include <weft/net/unix.hpp>

#include "base/atomic.hpp"

namespace weft::detail {

/// Which file a path is.
struct socket_file {
    dev_t device = 0;
    ino_t inode = 0;

    bool is_there() const noexcept { return inode != 0; }
    friend bool operator==(const socket_file&, const socket_file&) = default;
};

/// The file of a socket, and the duty to remove it. Forked children have a copy, which does nothing.
class WEFT_EXPORT bound_path {
public:
    /// After bind().
    explicit bound_path(std::string path) noexcept;
    /// Of a program that was this process before.
    bound_path(std::string path, socket_file file) noexcept;
    bound_path(const bound_path&) = delete;
    bound_path& operator=(const bound_path&) = delete;

    /// Removes the file, once, if it is still that one (UNIX_BOUND-1).
    void remove() noexcept;

    socket_file file() const noexcept { return file_; }

    /// That of a listener; null if it has none to remove.
    static bound_path* of(const unix_socket::listener& l) noexcept { return l.path_.get(); }
    static void give(unix_socket::listener& l, std::shared_ptr<bound_path> p) noexcept { l.path_ = std::move(p); }

private:
    const std::string path_;
    const pid_t maker_;
    socket_file file_;
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

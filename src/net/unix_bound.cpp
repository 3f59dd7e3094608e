#include "net/unix_bound.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "base/direct.hpp"
#include "net/socket.hpp"
#include "net/unix_address.hpp"

namespace weft::detail {
namespace {

bool is_socket_at(const std::string& path, struct stat& is) noexcept {
    return ::lstat(path.c_str(), &is) == 0 && S_ISSOCK(is.st_mode);
}

/// Whether there is a socket on which nobody listens, of any type. Removes it then.
bool removed_stale(const std::string& path, const socket_address& at, int type) noexcept {
    struct stat before, now;
    if (!is_socket_at(path, before)) return false;
    const auto probe = make_unix_socket(type, use::here);
    if (probe.error) return false;
    if (direct::connect(probe.handle.native(), at.get(), at.size) != -ECONNREFUSED) return false;
    if (!is_socket_at(path, now) || now.st_dev != before.st_dev || now.st_ino != before.st_ino) return false;
    return ::unlink(path.c_str()) == 0;
}

/// Of the socket at the path: a link that another process has put there meanwhile is not followed.
long set_mode(const std::string& path, unsigned mode) noexcept {
    const long fd = system_result([&] { return ::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC); });
    if (fd < 0) return fd;
    struct stat is;
    long r = system_result([&] { return ::fstat(static_cast<int>(fd), &is); });
    if (r >= 0 && !S_ISSOCK(is.st_mode)) r = -ENOTSOCK;
    // fchmod() takes no O_PATH
    if (r >= 0) r = system_result([&] { return ::chmod(("/proc/self/fd/" + std::to_string(fd)).c_str(), mode); });
    direct::close(static_cast<int>(fd));
    return r;
}

}  // namespace

bound_path::bound_path(std::string path) noexcept : path_(std::move(path)), maker_(::getpid()) {
    struct stat is;
    if (is_socket_at(path_, is)) file_ = {.device = is.st_dev, .inode = is.st_ino};
}

bound_path::bound_path(std::string path, socket_file file) noexcept : path_(std::move(path)), maker_(::getpid()), file_(file) {}

void bound_path::remove() noexcept {
    // relaxed: it decides which thread does it, and publishes nothing
    if (maker_ != ::getpid() || removed_.exchange(true, relaxed)) return;
    struct stat is;
    if (is_socket_at(path_, is) && socket_file{is.st_dev, is.st_ino} == file_) ::unlink(path_.c_str());
}

bound_socket open_bound(const unix_socket::address& at, const unix_socket::listener_options& options, int type) {
    const auto name = to_system(at);
    const auto fail = [&](std::error_code e) { throw std::system_error(e, "weft: listen on " + to_string(at.endpoint())); };
    auto made = make_unix_socket(type, use::handed_on);
    if (made.error) fail(made.error);
    const int fd = made.handle.native();
    const auto bind = [&] { return system_result([&] { return ::bind(fd, name.get(), name.size); }); };
    long r = bind();
    if (r == -EADDRINUSE && options.unlink_stale && !at.path.empty() && removed_stale(at.path, name, type)) r = bind();
    if (r < 0) fail(failure(r));
    bound_socket result{.handle = std::move(made.handle), .at = at.endpoint(), .path = nullptr};
    if (!at.path.empty()) result.path = std::make_shared<bound_path>(at.path);
    // Nobody can connect before listen().
    if (options.mode && result.path) r = set_mode(at.path, *options.mode);
    if (r >= 0) r = system_result([&] { return ::listen(fd, options.backlog); });
    if (r >= 0) return result;
    if (result.path) result.path->remove();
    fail(failure(r));
    return result;
}

}  // namespace weft::detail

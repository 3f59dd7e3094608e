// beneath.cpp - opening by openat2, or name by name.
#include "http/beneath.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>
#include <system_error>

#include "base/in_quotes.hpp"

namespace weft::detail {
namespace {

constexpr int to_look = O_PATH | O_CLOEXEC;
constexpr int to_read = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
// chosen: that something is replaced between two steps does not happen many times
constexpr int most_tries = 8;

int open_beneath(int root, const char* path, int flags) noexcept {
    struct open_how how = {};
    how.flags = static_cast<std::uint64_t>(flags);
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
    // EAGAIN says that something was renamed just then.
    for (int tries = most_tries;; --tries) {
        const auto fd = ::syscall(SYS_openat2, root, path, &how, sizeof how);
        if (fd >= 0 || tries == 0 || (errno != EAGAIN && errno != EINTR)) return static_cast<int>(fd);
    }
}

/// Seccomp filters answer EPERM or ENOSYS to calls that they do not know.
bool kernel_resolves(int root) noexcept {
    const owned_descriptor same(open_beneath(root, ".", O_PATH | O_CLOEXEC));
    return same.get() >= 0 || (errno != ENOSYS && errno != EPERM);
}

int open_one(int at, const std::string& name, int flags) noexcept {
    if (name == "..") {
        errno = EXDEV;
        return -1;
    }
    int fd;
    do fd = ::openat(at, name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    return fd;
}

int walk(int root, std::string_view path, int flags) {
    owned_descriptor at;
    for (auto slash = path.find('/'); slash != path.npos; slash = path.find('/')) {
        owned_descriptor next(open_one(at.get() < 0 ? root : at.get(), std::string(path.substr(0, slash)), O_PATH | O_DIRECTORY));
        if (next.get() < 0) return -1;
        at = std::move(next);
        path.remove_prefix(slash + 1);
    }
    return open_one(at.get() < 0 ? root : at.get(), std::string(path), flags);
}

/// Opens what a descriptor stands for, by the link that /proc has to it.
int open_again(int looked_at) noexcept {
    std::array<char, 32> link{"/proc/self/fd/"};
    std::to_chars(link.data() + std::strlen(link.data()), link.data() + link.size() - 1, looked_at);
    int fd;
    do fd = ::open(link.data(), to_read);
    while (fd < 0 && errno == EINTR);
    return fd;
}

bool is_same(int descriptor, const struct stat& as) noexcept {
    struct stat s {};
    return ::fstat(descriptor, &s) == 0 && s.st_dev == as.st_dev && s.st_ino == as.st_ino;
}

[[noreturn]] void fail(int error, std::string_view what, const std::string& path) {
    throw std::system_error(error, std::generic_category(), "weft: http: " + std::string(what) + " " + in_quotes(path));
}

}  // namespace

bool is_of_path(int error) noexcept {
    switch (error) {
        case ENOENT:
        case ENOTDIR:
        case EACCES:
        case EPERM:
        case ELOOP:
        case EXDEV:
        case ENAMETOOLONG:
        case EINVAL:
        case ESTALE:  // a file of a network that is gone there
        case ENOKEY:  // an encrypted file whose key is not here
        case ENXIO:  // a socket, or a device that is not there
        case ENODEV: return true;
        default: return false;
    }
}

beneath::beneath(const std::string& directory, way how)
    : root_(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)),
      walks_(how != way::as_possible),
      has_proc_(how != way::walk_without_proc) {
    if (root_.get() < 0) fail(errno, "the directory of files", directory);
    walks_ = walks_ || !kernel_resolves(root_.get());
}

owned_descriptor beneath::resolve(const char* path, int flags) const {
    if (!walks_) {
        owned_descriptor file(open_beneath(root_.get(), path, flags));
        // Where something is renamed all the time, a walk still comes to its end.
        if (file.get() >= 0 || errno != EAGAIN) return file;
    }
    return owned_descriptor(walk(root_.get(), path, flags));
}

std::optional<opened_file> beneath::open(const std::string& path) const {
    if (path.find('\0') != path.npos) return std::nullopt;
    const char* const name = path.empty() ? "." : path.c_str();
    for (int tries = most_tries; tries > 0; --tries) {
        opened_file found{resolve(name, to_look), {}};
        if (found.descriptor.get() >= 0) {
            if (::fstat(found.descriptor.get(), &found.status) != 0) fail(errno, "looking at", path);
            if (S_ISDIR(found.status.st_mode)) return found;
            if (!S_ISREG(found.status.st_mode)) return std::nullopt;
            errno = ENOENT;
            owned_descriptor file(has_proc_ ? open_again(found.descriptor.get()) : -1);
            if (file.get() < 0 && is_of_path(errno)) {
                file = resolve(name, to_read);
                if (file.get() >= 0 && !is_same(file.get(), found.status)) continue;
            }
            found.descriptor = std::move(file);
        }
        if (found.descriptor.get() >= 0) return found;
        if (is_of_path(errno)) return std::nullopt;
        fail(errno, "opening", path);
    }
    return std::nullopt;
}

}  // namespace weft::detail

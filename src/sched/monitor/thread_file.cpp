#include "sched/monitor/thread_file.hpp"

#include <weft/detail/annotated_locks.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "base/direct.hpp"
#include "base/fork.hpp"
#include "base/futex_lock.hpp"

namespace weft::detail {
namespace {

constinit futex_lock reading;

[[gnu::constructor(before_static_objects)]] void thread_files_follow_forks() noexcept { hold_across_forks<reading>(); }  // FORK-3

}  // namespace

std::string_view thread_file(pid_t thread, const char* name, std::span<char> into) noexcept {
    std::array<char, 64> path;
    std::snprintf(path.data(), path.size(), "/proc/self/task/%d/%s", static_cast<int>(thread), name);
    const lock_guard guard(reading);
    const int fd = ::open(path.data(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return {};
    const auto n = direct::read(fd, into.data(), into.size());
    direct::close(fd);
    errno = 0;
    return n > 0 ? std::string_view(into.data(), static_cast<std::size_t>(n)) : std::string_view();
}

}  // namespace weft::detail

// page_return.cpp - madvise(2) for one stretch of memory, process_madvise(2) for several.
#include "stack/page_return.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <algorithm>

#include "arch/valgrind.hpp"

namespace weft::detail {
namespace {

// PIDFD_SELF of linux/pidfd.h, which is newer than the headers we build with
constexpr int this_process = -10000;

// False: the kernel does not know the call, forbids it, or has stopped half-way. Valgrind does not
// know the call and would report it each time.
bool give_back_at_once(const iovec* stretches, std::size_t n, std::size_t bytes) noexcept {
    if (running_on_valgrind()) return false;
    const auto done = ::syscall(SYS_process_madvise, this_process, stretches, n, MADV_DONTNEED, 0);
    return done >= 0 && static_cast<std::size_t>(done) == bytes;
}

}  // namespace

void page_return::add(std::byte* low, std::size_t bytes, std::size_t gap) noexcept { all_[count_++] = {low, low + bytes, gap}; }

void page_return::give_back() noexcept {
    const auto n = join_neighbours();
    count_ = 0;
    std::array<iovec, at_most> stretches;
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < n; ++i) {
        stretches[i] = {all_[i].low, static_cast<std::size_t>(all_[i].high - all_[i].low)};
        bytes += stretches[i].iov_len;
    }
    if (n > 1 && give_back_at_once(stretches.data(), n, bytes)) return;
    for (std::size_t i = 0; i < n; ++i)
        // cannot fail on mappings of our own
        ::madvise(stretches[i].iov_base, stretches[i].iov_len, MADV_DONTNEED);
}

std::size_t page_return::join_neighbours() noexcept {
    if (count_ == 0) return 0;
    std::sort(all_.begin(), all_.begin() + count_, [](const stretch& a, const stretch& b) { return a.low < b.low; });
    std::size_t last = 0;
    for (std::size_t i = 1; i < count_; ++i) {
        if (all_[last].high + all_[i].gap == all_[i].low)
            all_[last].high = all_[i].high;
        else
            all_[++last] = all_[i];
    }
    return last + 1;
}

}  // namespace weft::detail

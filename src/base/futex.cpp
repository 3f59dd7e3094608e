// futex.cpp - the futex of Linux, process-private: absolute deadlines, wake by count.
#include "base/futex.hpp"

#if !(defined(WEFT_MODEL) && WEFT_MODEL)  // the model build gets both functions from tests/model

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

namespace weft::detail {
namespace {

static_assert(sizeof(futex_word) == sizeof(std::uint32_t), "the kernel looks at exactly the word");

timespec to_timespec(monotonic_ns t) noexcept {
    constexpr monotonic_ns second = 1'000'000'000;
    if (t < 0) t = 0;
    return {static_cast<time_t>(t / second), static_cast<long>(t % second)};
}

}  // namespace

futex_result futex_wait(const futex_word& word, std::uint32_t expected,
                        std::optional<monotonic_ns> deadline) noexcept {
    const timespec until = to_timespec(deadline.value_or(0));
    const long rc = ::syscall(SYS_futex, &word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected,
                              deadline ? &until : nullptr, nullptr, FUTEX_BITSET_MATCH_ANY);
    if (rc == 0) return futex_result::woken;
    if (errno == EAGAIN) return futex_result::changed;
    if (errno == ETIMEDOUT) return futex_result::timed_out;
    return futex_result::woken;  // EINTR: spurious (FUTEX-2)
}

int futex_wake(const futex_word& word, int n) noexcept {
    return static_cast<int>(::syscall(SYS_futex, &word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, n));
}

}  // namespace weft::detail

#endif

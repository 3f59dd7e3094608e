#include "sched/quiet_threads.hpp"

#include <dirent.h>

#include "arch/sanitizer.hpp"
#include "base/atomic.hpp"

namespace weft::detail {
namespace {

constinit atomic<int> quiet{0};

#if WEFT_UNDER_TSAN
constexpr int of_the_tools = 1;  // ThreadSanitizer has one of its own
#else
constexpr int of_the_tools = 0;
#endif

// 0: unknown.
int count_threads() noexcept {
    DIR* const tasks = ::opendir("/proc/self/task");
    if (!tasks) return 0;
    int n = 0;
    while (const auto* const entry = ::readdir(tasks)) n += entry->d_name[0] != '.';
    ::closedir(tasks);
    return n;
}

}  // namespace

quiet_thread::quiet_thread() noexcept { quiet.fetch_add(1, relaxed); }
quiet_thread::~quiet_thread() { quiet.fetch_sub(1, relaxed); }

bool others_may_act() noexcept {
    const int all = count_threads();
    return all == 0 || all - of_the_tools > quiet.load(relaxed);
}

}  // namespace weft::detail

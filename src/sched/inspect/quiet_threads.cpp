#include "sched/inspect/quiet_threads.hpp"

#include <dirent.h>

#include "arch/sanitizer.hpp"
#include "base/atomic.hpp"
#include "base/fork.hpp"

namespace weft::detail {
namespace {

constinit atomic<int> quiet{0};
constinit thread_local int depth = 0;  // objects nest: a thread of weft may also wait in weft

// A forked child has one thread, and that is not quiet.
[[gnu::constructor(before_static_objects)]] void quiet_threads_follow_forks() noexcept {  // FORK-3
    follow_forks({.in_child = [] {
        quiet.store(0, relaxed);
        depth = 0;
    }});
}

#if WEFT_UNDER_TSAN
constexpr int of_the_tools = 1;  // ThreadSanitizer has a thread of its own
#else
constexpr int of_the_tools = 0;
#endif

// \returns the number of threads of the process; 0: unknown.
int count_threads() noexcept {
    DIR* const tasks = ::opendir("/proc/self/task");
    if (!tasks) return 0;
    int n = 0;
    while (const auto* const entry = ::readdir(tasks)) n += entry->d_name[0] != '.';
    ::closedir(tasks);
    return n;
}

}  // namespace

quiet_thread::quiet_thread() noexcept {
    if (depth++ == 0) quiet.fetch_add(1, relaxed);
}
quiet_thread::~quiet_thread() {
    if (depth == 0) return;  // it was constructed before a fork
    if (--depth == 0) quiet.fetch_sub(1, relaxed);
}

bool others_may_act() noexcept {
    const int all = count_threads();
    return all == 0 || all - of_the_tools > quiet.load(relaxed);
}

}  // namespace weft::detail

#include "sched/placement.hpp"

#include <cstring>
#include <utility>

namespace weft::detail {

void placement::stay_off(const cpu_set_t& others) noexcept {
    cpu_set_t now;
    if (::sched_getaffinity(0, sizeof now, &now) != 0) return;  // more CPUs than a cpu_set_t holds
    cpu_set_t common;
    CPU_AND(&common, &now, &others);
    if (CPU_COUNT(&common) == 0 || CPU_EQUAL(&common, &now)) return;
    if (!CPU_EQUAL(&now, &seen_)) learn(now);
    CPU_XOR(&rest_, &now, &common);
    off_ = ::sched_setaffinity(0, sizeof rest_, &rest_) == 0;
}

void placement::stay_anywhere() noexcept {
    if (!std::exchange(off_, false)) return;
    cpu_set_t now;
    if (::sched_getaffinity(0, sizeof now, &now) == 0 && CPU_EQUAL(&now, &rest_))  // else somebody has set another meanwhile
        ::sched_setaffinity(0, sizeof normal_, &normal_);
}

// A thread nobody has restricted follows its cpuset when that changes; it must do so again afterwards. It is one if asking for
// every CPU there may be gives no more than it has.
void placement::learn(const cpu_set_t& now) noexcept {
    seen_ = normal_ = now;
    cpu_set_t every;
    std::memset(&every, 0xff, sizeof every);
    cpu_set_t widest;
    if (::sched_setaffinity(0, sizeof every, &every) != 0) return;
    if (::sched_getaffinity(0, sizeof widest, &widest) == 0 && CPU_EQUAL(&widest, &now))
        normal_ = every;
    else
        ::sched_setaffinity(0, sizeof now, &now);
}

}  // namespace weft::detail

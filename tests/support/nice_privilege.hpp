// nice_privilege.hpp - to be as those who are not root.
#pragma once

#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weft::test {

/// From now on the calling thread, and those it starts, cannot make a thread less nice. \returns false if the kernel refuses.
inline bool drop_nice_privilege() {
    constexpr rlimit none{.rlim_cur = 0, .rlim_max = 0};
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    __user_cap_data_struct sets[2] = {};
    if (::setrlimit(RLIMIT_NICE, &none) != 0 || ::syscall(SYS_capget, &header, sets) != 0) return false;
    sets[0].effective &= ~(1u << CAP_SYS_NICE);
    sets[0].permitted &= ~(1u << CAP_SYS_NICE);
    return ::syscall(SYS_capset, &header, sets) == 0;
}

}  // namespace weft::test

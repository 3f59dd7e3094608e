#include "sched/idle/placement.hpp"

#include <utility>

namespace weft::detail {
namespace {

// Both fail if a cpu_set_t cannot hold all CPUs, the thread has ended, or the kernel refuses.
bool read_mask(pid_t thread, cpu_set_t& mask) noexcept { return ::sched_getaffinity(thread, sizeof mask, &mask) == 0; }
bool set_own_mask(const cpu_set_t& mask) noexcept { return ::sched_setaffinity(0, sizeof mask, &mask) == 0; }

}  // namespace

void placement::stay_off(const cpu_set_t& others, pid_t reference) noexcept {
    cpu_set_t now;
    if (reference == 0 || !read_mask(0, now)) return;
    if ((reference != reference_ || !CPU_EQUAL(&now, &normal_)) && !learn(reference)) return;
    cpu_set_t common;
    CPU_AND(&common, &normal_, &others);
    if (CPU_COUNT(&common) != 0 && !CPU_EQUAL(&common, &normal_)) {
        CPU_XOR(&rest_, &normal_, &common);
        off_ = set_own_mask(rest_);
    }
    follow_reference();  // PLACEMENT-3
}

void placement::stay_anywhere() noexcept {
    if (!std::exchange(off_, false)) return;
    cpu_set_t now;
    if (!read_mask(0, now) || !CPU_EQUAL(&now, &rest_)) return;  // PLACEMENT-1
    if (follow_reference()) return;                              // PLACEMENT-2
    set_own_mask(normal_);
    follow_reference();  // PLACEMENT-3
}

// Reads the reference first: a tool that sets all threads sets it before this one.
bool placement::learn(pid_t reference) noexcept {
    reference_ = read_mask(reference, agreed_) && read_mask(0, normal_) ? reference : 0;
    return reference_ != 0;
}

bool placement::follow_reference() noexcept {
    cpu_set_t wanted;
    if (!read_mask(reference_, wanted) || CPU_EQUAL(&wanted, &agreed_)) return false;
    off_ = false;
    agreed_ = normal_ = wanted;
    return set_own_mask(wanted);
}

}  // namespace weft::detail

// hog_sighting.hpp - what the scheduler tells the runtime of a fiber that keeps its thread for long.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string_view>

#include <weft/detail/clock.hpp>

namespace weft::detail {

struct control_block;

/// What one report says, valid while it is being made.
struct hog_sighting {
    control_block& fiber;  // with a reference
    pid_t thread;
    bool blocks;  // its thread sleeps in the kernel; else it computes
    duration held;  // since the fiber was first seen on that thread
    // CPU time since the reporter first saw it; less than `held` covers.
    duration computed;
    std::string_view blocked_in;  // if it blocks: where in the kernel; empty if unknown
    std::span<void* const> stack;  // if it computes and could be read: innermost frame first
    std::uint64_t left_out;  // how many stretches were not reported since the last report
    std::uint32_t cancelled = 0;  // how often `cancelled` was thrown, if it is reported for that
};

}  // namespace weft::detail

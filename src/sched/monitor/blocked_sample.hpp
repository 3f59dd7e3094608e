// blocked_sample.hpp - which code has made the system call that a thread is blocked in.
//
// Nothing unwinds the stack of a thread that may wake at any time. Another thread reads from proc which call it
// is, and copies a piece of the stack above the stack pointer. The caller is the first word of it that returns
// into code of the program or of a library which is not the C library, behind a call instruction. That can be
// the return address of an earlier call, if a frame below has left it where it was.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace weft::detail {

/// Where a thread is blocked.
struct blocked_spot {
    long number = -1;  // of the system call; negative: the thread is in none, but perhaps in a page fault
    std::uintptr_t stack_pointer = 0, program_counter = 0;

    bool is_known() const noexcept { return program_counter != 0; }
    bool operator==(const blocked_spot&) const = default;
};

struct blocked_sample {
    blocked_spot spot;
    std::size_t count = 0;  // of words
    // chosen: wrappers in the C library have small frames
    std::array<std::uintptr_t, 256> words;
};

/// Fills `into` in. The monitor calls it, so it waits for no lock of the program; but a thread that changes the
/// mappings of the process and blocks meanwhile, as an mmap() of a file on a network does, holds it up.
/// \cost  some ten microseconds.
void sample_blocked_thread(pid_t thread, blocked_sample& into) noexcept;

/// Unknown if the thread runs, or the kernel does not say.
blocked_spot spot_of(pid_t thread) noexcept;

/// The place that has called, or null. Waits for the loader's lock, which a fiber in dlopen() may have.
const void* caller_in(const blocked_sample& s) noexcept;

}  // namespace weft::detail

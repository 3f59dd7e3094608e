// thread_probe.hpp - what the kernel says of a thread: its CPU time, and whether it runs.
//
// The thread is one of this process. cpu() costs about 0.26 us, activity() 1.2 us
// (docs/measurements/preemption.md); so activity() is asked only on suspicion.
#pragma once

#include <sys/types.h>
#include <time.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include <weft/detail/clock.hpp>

namespace weft::detail {

/// runs: it has a CPU or waits for one. sleeps: it is in a system call or a page fault. unknown:
/// the kernel does not say. not_asked: the kernel could not be asked now, for lack of a descriptor
/// or of memory.
enum class thread_activity : std::uint8_t { runs, sleeps, unknown, not_asked };

class thread_probe {
public:
    /// Makes a probe of no thread.
    constexpr thread_probe() noexcept = default;
    /// \returns a probe of the calling thread. After that thread's end it finds nothing, or another
    /// thread that has the same id.
    static thread_probe here() noexcept;

    /// \returns the thread's CPU time; nothing if the kernel refuses its clock or it has ended.
    std::optional<duration> cpu() const noexcept;
    thread_activity activity() const noexcept;
    pid_t id() const noexcept { return id_; }

private:
    friend struct debug_layout;
    pid_t id_ = 0;
    clockid_t clock_ = 0;  // 0: none, since no thread's clock has the id 0
};

/// \returns the CPU time of the calling thread.
duration thread_cpu_here() noexcept;

/// Reads the activity from the text of /proc/self/task/ID/stat. The thread's name in it may hold
/// any characters, also parentheses.
thread_activity activity_in(std::string_view stat) noexcept;

}  // namespace weft::detail

// thread_probe.hpp - what the kernel says of another thread of this process: how much CPU time it has had, and whether it runs.
//
// cpu() costs about 0.26 us, activity() 1.2 us (docs/measurements/preemption.md); so the second is
// asked only on suspicion.
#pragma once

#include <sys/types.h>
#include <time.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include <weft/detail/clock.hpp>

namespace weft::detail {

/// `runs`: has a CPU or waits for one. `sleeps`: in a system call or a page fault. `unknown`: the kernel does not say.
/// `not_asked`: it could not be asked now, for want of a descriptor or of memory.
enum class thread_activity : std::uint8_t { runs, sleeps, unknown, not_asked };

class thread_probe {
public:
    /// Of no thread.
    constexpr thread_probe() noexcept = default;
    /// Of the calling thread. What is asked after its end finds nothing, or whoever has its number then.
    static thread_probe here() noexcept;

    /// Nothing if the kernel refuses its clock, or there is no such thread.
    std::optional<duration> cpu() const noexcept;
    thread_activity activity() const noexcept;
    pid_t id() const noexcept { return id_; }

private:
    friend struct debug_layout;
    pid_t id_ = 0;
    clockid_t clock_ = 0;  // 0: none; it is no thread's
};

/// CPU time of the calling thread.
duration thread_cpu_here() noexcept;

/// From the text of /proc/self/task/ID/stat. A thread's name may hold anything, parentheses included.
thread_activity activity_in(std::string_view stat) noexcept;

}  // namespace weft::detail

// overflow.hpp - reports a touched guard page in one line that names the fiber.
//
// The program then dies of the fault as it would have without the report.
//
// Other handlers of SIGSEGV, installed before or after ours, still work. A handler that was there
// before is called after the line, and for every fault that is not ours. A handler that is
// installed later calls ours itself, if it passes on what it does not know. Both are called as the
// kernel would call them, with their own signal mask.
//
// A SIGSEGV that was sent (kill, raise, sigqueue) is not a fault. It does what it would have done
// without weft: it is ignored if it was ignored before, goes to the handler that was there, or ends
// the process.
//
// Invariants
//   OVERFLOW-1  Our handler is installed at most once in a chain of handlers, and the handler it
//               calls was there before it. So there is no cycle.
//   OVERFLOW-2  If the last report ends while another handler is on top, our handler stays
//               installed: the other one may pass signals on to it. The next report then installs
//               nothing, unless the handler on top has gone. Either the chain already leads to
//               ours, or the owner of the handler on top has chosen that it does not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft::detail {

/// While one of these objects lives, a SIGSEGV in a guard page prints one line
///     weft: stack overflow in fiber "NAME" (stack 256 KiB, 256 KiB touched, address 0x7f...,
///     spawned at FILE:LINE, fiber 7)
/// and then recurs with the default action, so that a core is dumped, unless the handler that was
/// there before ends the program.
class overflow_report {
public:
    overflow_report() noexcept;
    ~overflow_report();
    overflow_report(overflow_report const&) = delete;
    overflow_report& operator=(overflow_report const&) = delete;
};

/// A stack for signal handlers of this OS thread. Without one the thread cannot report that its own
/// stack is full. Constructed and destroyed on the same OS thread.
class alternate_stack {
public:
    alternate_stack() noexcept;
    ~alternate_stack();
    alternate_stack(alternate_stack const&) = delete;
    alternate_stack& operator=(alternate_stack const&) = delete;

    /// Room for the largest signal frame of this processor, and for a handler that prints.
    static std::size_t bytes_needed() noexcept;

private:
    void* memory_ = nullptr;
    std::size_t bytes_ = 0;
    void* previous_memory_ = nullptr;
    std::size_t previous_bytes_ = 0;
    int previous_flags_ = 0;
};

/// The fiber whose stack is full.
struct overflown {
    std::string_view name = {};
    std::uint64_t id = 0;  // 0: not a fiber
    char const* file = nullptr;  // where the fiber was spawned; null: not known
    unsigned line = 0;
    // if `file` is null: the type of the body, as the compiler spells it
    char const* body = nullptr;
};

/// Describes the fiber that runs on this thread. Called in a signal handler.
using overflow_namer = overflown (*)() noexcept;
void set_overflow_namer(overflow_namer namer) noexcept;

}  // namespace weft::detail

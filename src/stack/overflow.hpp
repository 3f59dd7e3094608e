// overflow.hpp - turns a touched guard page into one line that names the fiber, before the program dies of it as it would have.
//
// Who else handles SIGSEGV, installed before or after, keeps his say: a handler that was there before is called after the line, and for
// every fault that is not ours; one that comes later calls ours by itself, if it hands on what it does not know. Both as the kernel would have,
// with their own signal mask.
//
// A SIGSEGV that was sent (kill, raise, sigqueue) is no fault, and does what it would have done without weft: it is ignored if it was, goes
// to the handler that was there, or ends the process.
//
// Invariants
//   O1  Our handler is installed at most once in a chain of handlers, and what it calls was there before it. So there is no ring.
//   O2  When the last report ends beneath another handler, ours stays where it is: that one may hand on to it. The next report installs
//       nothing then, unless whatever was on top has gone: the chain leads to ours already, or its owner has chosen that it does not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft::detail {

/// While one of these lives, a SIGSEGV in a guard page prints one line
///     weft: stack overflow in fiber "NAME" (stack 256 KiB, 256 KiB touched, address 0x7f..., spawned at FILE:LINE, fiber 7)
/// and then recurs with the default action, so that a core is dumped, unless the handler that was there before ends the program.
class overflow_report {
public:
    overflow_report() noexcept;
    ~overflow_report();
    overflow_report(overflow_report const&) = delete;
    overflow_report& operator=(overflow_report const&) = delete;
};

/// A stack for signal handlers of this OS thread, without which it cannot report that its own stack is full.
/// Made and ended on the same OS thread.
class alternate_stack {
public:
    alternate_stack() noexcept;
    ~alternate_stack();
    alternate_stack(alternate_stack const&) = delete;
    alternate_stack& operator=(alternate_stack const&) = delete;

    /// Room for the largest frame of a signal that this processor has, and for a handler that prints.
    static std::size_t bytes_needed() noexcept;

private:
    void* memory_ = nullptr;
    std::size_t bytes_ = 0;
    void* previous_memory_ = nullptr;
    std::size_t previous_bytes_ = 0;
    int previous_flags_ = 0;
};

/// Whose stack is full.
struct overflown {
    std::string_view name = {};
    std::uint64_t id = 0;          // 0: none
    char const* file = nullptr;    // where it was spawned; null: not known
    unsigned line = 0;
    char const* body = nullptr;    // then the type of what it runs, as the compiler spells it
};

/// Answers, in a signal handler, who runs on this thread.
using overflow_namer = overflown (*)() noexcept;
void set_overflow_namer(overflow_namer namer) noexcept;

}  // namespace weft::detail

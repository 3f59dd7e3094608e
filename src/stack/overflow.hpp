// overflow.hpp - turns a touched guard page into one line that names the fiber, before the program dies of it as it would have.
#pragma once

#include <cstddef>
#include <string_view>

namespace weft::detail {

/// While one of these lives, a SIGSEGV in a guard page prints
///     weft: stack overflow in fiber "NAME" (stack 256 KiB)
/// and then recurs with the default action, so that a core is dumped. Other faults go to the handler that was there before.
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

private:
    void* memory_ = nullptr;
    std::size_t bytes_ = 0;
    void* previous_memory_ = nullptr;
    std::size_t previous_bytes_ = 0;
    int previous_flags_ = 0;
};

/// Answers, in a signal handler, the name of the running fiber; empty where there is none.
using overflow_namer = std::string_view (*)() noexcept;
void set_overflow_namer(overflow_namer namer) noexcept;

}  // namespace weft::detail

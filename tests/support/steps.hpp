// steps.hpp - runs code one instruction at a time and unwinds from every instruction of weft's switches: by the tables, as gdb, exceptions
// and backtrace() do, and by frame pointers, as the kernel does for perf record -g.
//
// A passage is what lies between entering such a function and being somewhere else. The stack pointer changes once in it: before, the
// callers are those of the stack that is left, and from there on those of the stack that goes on. Nothing in between.
#pragma once

#include "arch/sanitizer.hpp"

#if defined(__x86_64__) && !WEFT_UNDER_ASAN && !WEFT_UNDER_TSAN
#define WEFT_CAN_STEP 1

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace weft::test {

/// Who would go on when the switch's own frame has returned, and how it would find its registers.
struct callers {
    static constexpr std::size_t most = 48;
    std::array<std::uintptr_t, most> code{};  // innermost first
    std::array<std::uintptr_t, most> stack{};  // its stack pointer
    std::array<std::uintptr_t, 6> registers{};  // of the innermost: those a call preserves
    std::size_t count = 0;
    bool complete = false;  // the unwinder found the end

    friend bool operator==(const callers&, const callers&) = default;
};

/// The return addresses that the chain of frame pointers leads to.
struct frame_chain {
    std::array<std::uintptr_t, callers::most> code{};
    std::size_t count = 0;
    friend bool operator==(const frame_chain&, const frame_chain&) = default;
};

struct step {
    std::uintptr_t at = 0;
    std::uintptr_t stack = 0;
    callers by_tables;
    frame_chain by_frames;
};

struct passage {
    std::vector<step> leaving;
    std::vector<step> arriving;  // empty, if the stack stayed the same
    std::uintptr_t then = 0;  // where it went on outside
};

enum class frame_pointers : bool { not_kept, kept };  // by the code that is stepped through

class stepping {
public:
    explicit stepping(frame_pointers frames = frame_pointers::not_kept);
    ~stepping();
    stepping(const stepping&) = delete;
    stepping& operator=(const stepping&) = delete;

    /// Of the calling thread.
    void begin();
    void end();

    [[nodiscard]] std::vector<passage> passages() const;

private:
    struct record;
    std::unique_ptr<record> record_;
};

/// Expects of every passage that both its parts are right at each instruction; that it goes on where the callers said; and that a stack
/// goes on with the callers it was left with, if that was seen. \returns how many went on so.
int expect_right_callers(const std::vector<passage>& all);

}  // namespace weft::test

#else
#define WEFT_CAN_STEP 0
#endif

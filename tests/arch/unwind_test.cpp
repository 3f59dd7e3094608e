// unwind_test.cpp - steps through a switch one instruction at a time and unwinds from every one of them.
#include <gtest/gtest.h>

#include "arch/test_stack.hpp"

#if defined(__x86_64__) && !WEFT_UNDER_ASAN && !WEFT_UNDER_TSAN

#include <execinfo.h>
#include <ucontext.h>
#include <array>
#include <csignal>
#include <cstdint>

namespace weft::detail {
namespace {

constexpr int room = 512;

struct step {
    std::uintptr_t at = 0;
    std::uintptr_t caller = 0;   // the frame that unwinding found above it
    bool ends_well = false;      // in the base, or below the test's own stack
};

struct walk {
    std::array<step, room> steps{};
    int count = 0;
    std::array<std::uintptr_t, room> return_addresses{};   // read from the stack at the first instruction
    int calls = 0;
};

walk* recording = nullptr;

std::uintptr_t address(void (*function)()) { return reinterpret_cast<std::uintptr_t>(function); }

bool inside_switch(std::uintptr_t at) {
    return at >= reinterpret_cast<std::uintptr_t>(&weft_switch_context) && at < address(&weft_context_base);
}

void on_step(int, siginfo_t*, void* machine) {
    auto const& registers = static_cast<ucontext_t*>(machine)->uc_mcontext.gregs;
    auto const at = static_cast<std::uintptr_t>(registers[REG_RIP]);
    auto& w = *recording;
    if (!inside_switch(at) || w.count == room) return;
    if (at == reinterpret_cast<std::uintptr_t>(&weft_switch_context) || at == reinterpret_cast<std::uintptr_t>(&weft_hop_context))
        w.return_addresses[static_cast<std::size_t>(w.calls++)] = *reinterpret_cast<std::uintptr_t*>(registers[REG_RSP]);
    std::array<void*, 64> frames;
    int const depth = ::backtrace(frames.data(), static_cast<int>(frames.size()));
    auto& s = w.steps[static_cast<std::size_t>(w.count++)];
    s.at = at;
    for (int n = 0; n + 1 < depth; ++n)
        if (reinterpret_cast<std::uintptr_t>(frames[static_cast<std::size_t>(n)]) == at)
            s.caller = reinterpret_cast<std::uintptr_t>(frames[static_cast<std::size_t>(n) + 1]);
    s.ends_well = depth < static_cast<int>(frames.size());
}

void single_step(bool on) {
    std::uint64_t flags = __builtin_ia32_readeflags_u64();
    flags = on ? flags | 0x100U : flags & ~std::uint64_t{0x100};
    __builtin_ia32_writeeflags_u64(flags);
}

void comes_back_twice_then_jumps(void* argument) noexcept {
    auto& r = *static_cast<rope*>(argument);
    r.to_main();
    hop_context(r.other, r.main);
    jump_context(r.main);
}

TEST(unwind, X4_every_instruction_of_a_switch_can_be_unwound) {
    std::array<void*, 4> warm;
    ::backtrace(warm.data(), 4);   // loads the unwinder before anything is stepped
    walk w;
    recording = &w;
    struct sigaction action = {};
    struct sigaction previous = {};
    action.sa_sigaction = on_step;
    action.sa_flags = SA_SIGINFO;
    ::sigaction(SIGTRAP, &action, &previous);
    rope r;
    r.make(comes_back_twice_then_jumps);
    single_step(true);
    r.to_other();
    hop_context(r.main, r.other);
    r.to_other();
    single_step(false);
    ::sigaction(SIGTRAP, &previous, nullptr);

    EXPECT_EQ(w.calls, 5);
    EXPECT_GT(w.count, 6 * 15);
    for (int n = 0; n < w.count; ++n) {
        auto const& s = w.steps[static_cast<std::size_t>(n)];
        bool known = s.caller == address(&weft_context_base);
        for (int k = 0; k < w.calls; ++k) known |= s.caller == w.return_addresses[static_cast<std::size_t>(k)];
        // A jump's own caller has nothing to return to, up to where the stack changes.
        bool const before_jump = s.at >= reinterpret_cast<std::uintptr_t>(&weft_jump_context) &&
                                 s.at < reinterpret_cast<std::uintptr_t>(&weft_jump_context) + 12;
        EXPECT_TRUE(known || before_jump) << "at " << s.at - reinterpret_cast<std::uintptr_t>(&weft_switch_context);
        EXPECT_NE(s.caller, 0U);
        EXPECT_TRUE(s.ends_well);
    }
}

}  // namespace
}  // namespace weft::detail

#endif

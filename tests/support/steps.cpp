#include "support/steps.hpp"

#if WEFT_CAN_STEP

#include <gtest/gtest.h>

#include <signal.h>
#include <ucontext.h>
#include <unwind.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "arch/context.hpp"

namespace weft::test {
namespace {

constexpr std::size_t room = 4096;
constexpr std::uint64_t trap_flag = 0x100;
constexpr std::array<int, 6> preserved = {3, 6, 12, 13, 14, 15};  // rbx, rbp, r12 to r15 as the tables number them

std::uintptr_t address(void (*function)() noexcept) { return reinterpret_cast<std::uintptr_t>(function); }

bool in_base(std::uintptr_t at) {
    return at >= address(&detail::weft_context_base) && at < address(&detail::weft_context_base) + 32;
}

bool in_switch(std::uintptr_t at) {  // they are neighbours in context.S
    return (at >= reinterpret_cast<std::uintptr_t>(&detail::weft_switch_context) && at < address(&detail::weft_context_base)) ||
           in_base(at);
}

struct unwinding {
    std::uintptr_t from;
    bool begun = false;
    callers found{};
};

_Unwind_Reason_Code note(_Unwind_Context* frame, void* argument) {
    auto& u = *static_cast<unwinding*>(argument);
    const auto code = _Unwind_GetIP(frame);
    if (!u.begun) {
        u.begun = code == u.from;
        return _URC_NO_REASON;
    }
    auto& c = u.found;
    if (code == 0) return _URC_NO_REASON;  // the base has no caller; what follows it is the end
    if (c.count == callers::most) return _URC_END_OF_STACK;
    if (c.count == 0)
        for (std::size_t n = 0; n < preserved.size(); ++n) c.registers[n] = _Unwind_GetGR(frame, preserved[n]);
    c.code[c.count] = code;
    c.stack[c.count++] = _Unwind_GetCFA(frame);
    return _URC_NO_REASON;
}

callers unwind_from(std::uintptr_t at) {
    unwinding u{.from = at};
    u.found.complete = _Unwind_Backtrace(note, &u) == _URC_END_OF_STACK && u.begun && u.found.count < callers::most;
    return u.found;
}

frame_chain follow(std::uintptr_t frame) {
    frame_chain chain;
    while (frame != 0 && chain.count < callers::most) {
        const auto* const pair = reinterpret_cast<const std::uintptr_t*>(frame);
        chain.code[chain.count++] = pair[1];
        frame = pair[0];
    }
    return chain;
}

}  // namespace

struct stepping::record {
    frame_pointers frames;
    std::vector<step> steps = std::vector<step>(room);
    std::vector<std::uintptr_t> outside = std::vector<std::uintptr_t>(room);  // after steps[n]: where it left the switch
    std::size_t count = 0;
    bool inside = false;
    struct sigaction previous = {};

    static inline record* current = nullptr;

    static void on_step(int, siginfo_t*, void* machine) {
        const auto& registers = static_cast<ucontext_t*>(machine)->uc_mcontext.gregs;
        current->take(static_cast<std::uintptr_t>(registers[REG_RIP]), static_cast<std::uintptr_t>(registers[REG_RSP]),
                      static_cast<std::uintptr_t>(registers[REG_RBP]));
    }

    void take(std::uintptr_t at, std::uintptr_t stack, std::uintptr_t frame) {
        if (!in_switch(at)) {
            if (inside) outside[count - 1] = at;
            inside = false;
            return;
        }
        if (count == room) std::abort();
        inside = true;
        steps[count] = {.at = at, .stack = stack, .by_tables = unwind_from(at), .by_frames = {}};
        if (frames == frame_pointers::kept) steps[count].by_frames = follow(frame);
        ++count;
    }
};

stepping::stepping(frame_pointers frames) : record_(new record{.frames = frames}) {
    static_cast<void>(unwind_from(0));  // loads the unwinder before anything is stepped
    record::current = record_.get();
    struct sigaction action = {};
    action.sa_sigaction = record::on_step;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigaction(SIGTRAP, &action, &record_->previous);
}

stepping::~stepping() { ::sigaction(SIGTRAP, &record_->previous, nullptr); }

void stepping::begin() { __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() | trap_flag); }
void stepping::end() { __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() & ~trap_flag); }

std::vector<passage> stepping::passages() const {
    std::vector<passage> all;
    bool within = false, changed = false;
    std::uintptr_t stack = 0;
    for (std::size_t n = 0; n < record_->count; ++n) {
        const auto& s = record_->steps[n];
        if (!within) {
            all.emplace_back();
            changed = false;
        }
        const auto moved = std::max(stack, s.stack) - std::min(stack, s.stack);
        if (within && moved > 1024) changed = true;  // chosen: more than a frame, less than a stack
        stack = s.stack;
        (changed ? all.back().arriving : all.back().leaving).push_back(s);
        all.back().then = record_->outside[n];
        within = all.back().then == 0;
    }
    return all;
}

namespace {

bool on_fresh_stack(const step& s) { return in_base(s.at) || (s.by_tables.count == 1 && in_base(s.by_tables.code[0])); }

void expect_same_callers(const std::vector<step>& part, const callers& wanted, const char* what) {
    for (const auto& s : part) {
        const auto offset = s.at - reinterpret_cast<std::uintptr_t>(&detail::weft_switch_context);
        EXPECT_TRUE(s.by_tables.complete) << what << ", at +" << offset;
        if (in_base(s.at)) {
            EXPECT_EQ(s.by_tables.count, 0u) << what << ", at +" << offset;
            continue;
        }
        EXPECT_GE(s.by_tables.count, 1u);
        EXPECT_TRUE(s.by_tables == wanted) << what << ", at +" << offset << ": " << s.by_tables.count << " callers, not "
                                           << wanted.count;
    }
}

}  // namespace

int expect_right_callers(const std::vector<passage>& all) {
    std::map<std::uintptr_t, callers> left;  // by the stack pointer they go on with
    int as_left = 0;
    for (const auto& p : all) {
        const auto& mine = p.leaving.front().by_tables;
        expect_same_callers(p.leaving, mine, "leaving");
        left[mine.stack[0]] = mine;
        if (p.arriving.empty()) continue;
        const auto& first = p.arriving.front();
        if (on_fresh_stack(first)) {
            callers none = first.by_tables;
            expect_same_callers(p.arriving, none, "beginning");
            continue;
        }
        const auto& theirs = p.arriving.back().by_tables;
        expect_same_callers(p.arriving, theirs, "arriving");
        EXPECT_EQ(p.then, theirs.code[0]) << "it goes on elsewhere";
        if (const auto known = left.find(theirs.stack[0]); known != left.end()) {
            EXPECT_TRUE(known->second == theirs) << "not the callers the stack was left with";
            left.erase(known);
            ++as_left;
        }
    }
    return as_left;
}

}  // namespace weft::test

#endif

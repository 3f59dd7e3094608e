// debug_layout.cpp - the table by which tools/gdb/weft.py finds fibers.
//
// The script only reads memory, so it needs neither debug information of weft nor a running
// process; docs/design/dump.md describes what it reads.
//
// An entry is a name and a number, so a script may know more or fewer entries than the program. If
// the meaning of an entry changes, it gets another name. The script relies on the ABI of libstdc++:
// a vector begins with the addresses of its first element and of its end, a string with the address
// of its text, and a unique_ptr is a pointer.
#include "runtime/dump/debug_layout.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "arch/context.hpp"
#include "runtime/dump/all_runtimes.hpp"
#include "sched/identity/thread_identity.hpp"
#include "sched/scheduler.hpp"
#include "stack/stack.hpp"
#include "sched/joiners.hpp"

#if defined(__x86_64__)
#include "arch/x86_64/layout.h"
#elif defined(__aarch64__)
#include "arch/aarch64/layout.h"
#endif

#if defined(WEFT_GDB_SCRIPT)
// The script itself. gdb loads it from this section if it trusts the file (auto-load safe-path).
// The section is not loaded with the program.
asm(".pushsection .debug_gdb_scripts, \"MS\", %progbits, 1\n"
    ".byte 4\n"  // python text follows, after a name
    ".ascii \"weft.py\\n\"\n"
    ".incbin \"" WEFT_GDB_SCRIPT
    "\"\n"
    ".byte 0\n"
    ".popsection\n");
#endif

namespace weft::detail {

struct debug_entry {
    const char* name;
    std::uint64_t value;
};

extern "C" {
/// The table. It ends with a null name; the first name is null until there is a runtime.
[[gnu::visibility("default"), gnu::used]] constinit debug_entry weft_debug_layout[96] = {};
}

// The classes that let this one see their members name it as a friend.
struct debug_layout {
    static void fill(listed_runtime* const* first) noexcept;
};

namespace {

constinit std::array<const char*, static_cast<std::size_t>(fiber_state::done) + 1> state_names = {};

template <class Enum, std::size_t N>
void fill_names(std::array<const char*, N>& names) noexcept {
    // Each name is a literal, so it ends with a zero.
    for (std::size_t i = 0; i < N; ++i) names[i] = name(static_cast<Enum>(i)).data();
}

std::uint64_t address(const void* p) noexcept { return reinterpret_cast<std::uintptr_t>(p); }

template <class T>
std::uint64_t byte_of(T with_one_bit) noexcept {
    static_assert(sizeof(T) == 1);
    std::uint8_t byte;
    std::memcpy(&byte, &with_one_bit, 1);
    return byte;
}

}  // namespace

#pragma GCC diagnostic push
// Both compilers support this for classes without virtual bases.
#pragma GCC diagnostic ignored "-Winvalid-offsetof"

void debug_layout::fill(listed_runtime* const* first) noexcept {
    fill_names<fiber_state>(state_names);
    fiber_core::marks named{};
    named.named = true;
    const debug_entry entries[] = {
        {"version", 2},
        {"first_runtime", address(first)},
        {"runtime.next", offsetof(listed_runtime, next_)},
        {"runtime.scheduler", offsetof(listed_runtime, fibers_)},
        {"scheduler.name", offsetof(scheduler, options_) + offsetof(scheduler_options, name)},
        {"scheduler.slabs", offsetof(scheduler, blocks_) + offsetof(block_pool, slabs_)},
        {"scheduler.workers", offsetof(scheduler, workers_)},
        {"scheduler.carriers", offsetof(scheduler, carriers_)},
        {"scheduler.carrier_count", offsetof(scheduler, carrier_count_)},
        {"worker.coarse_now", offsetof(worker, coarse_now_)},
        {"worker.held_by", offsetof(worker, held_by_)},
        {"carrier.current", offsetof(carrier, current_)},
        {"carrier.thread", offsetof(carrier, probe_) + offsetof(thread_probe, id_)},
        {"slab.memory", offsetof(block_pool::slab, memory)},
        {"slab.leaves", offsetof(block_pool::slab, leaves)},
        {"slab.leaf_count", block_pool::leaves_per_slab},
        {"leaf.size", sizeof(block_pool::leaf)},
        {"leaf.is_present", offsetof(block_pool::leaf, is_present)},
        {"leaf.bytes", block_pool::leaf_bytes},
        {"leaf.block_count", block_pool::leaf_blocks},
        {"block.size", sizeof(control_block)},
        {"block.to_cold", static_cast<std::uint64_t>(control_block::leaf * sizeof(control_block))},
        {"block.life", offsetof(control_block, life)},
        {"block.generation", offsetof(control_block, generation)},
        {"block.index", offsetof(control_block, index)},
        {"block.phase", offsetof(control_block, phase)},
        {"block.site", offsetof(control_block, site)},
        {"block.home", offsetof(control_block, home)},
        {"block.parent", offsetof(control_block, parent)},
        {"block.sp", offsetof(control_block, ctx) + offsetof(context, sp)},
        {"block.marks", offsetof(control_block, mark)},
        {"marks.named", byte_of(named)},
        {"life.done", life_word::done},
        {"cold.word", offsetof(fiber_cold, word)},
        {"word.state_mask", wait_word::state_mask},
        {"word.waiting", static_cast<std::uint64_t>(wait_state::waiting)},
        {"cold.kind", offsetof(fiber_cold, kind)},
        {"cold.object", offsetof(fiber_cold, object)},
        {"cold.since", offsetof(fiber_cold, since)},
        {"cold.in_place", offsetof(fiber_cold, in_place)},
        {"cold.coroutine", offsetof(fiber_cold, slot) + offsetof(coroutine_slot, innermost)},
        {"coroutine.sp", offsetof(coroutine_link, caller) + offsetof(context, sp)},
        {"coroutine.outer", offsetof(coroutine_link, outer)},
        {"cold.name", offsetof(fiber_cold, name_text)},
        {"cold.name_bytes", sizeof(fiber_cold::name_text)},
        {"coarse_shift", coarse_shift},
        {"state_names", address(state_names.data())},
        {"state_count", state_names.size()},
        {"state.waiting", static_cast<std::uint64_t>(fiber_state::waiting)},
        {"state.done", static_cast<std::uint64_t>(fiber_state::done)},
        {"kind.name", offsetof(wait_kind, name)},
        {"kind.held_at", offsetof(wait_kind, held_at) + offsetof(holder_place, is)},
        {"kind.offset", offsetof(wait_kind, held_at) + offsetof(holder_place, offset)},
        {"kind.pointer", static_cast<std::uint64_t>(holder_place::form::pointer)},
        {"kind.inside", static_cast<std::uint64_t>(holder_place::form::inside)},
        {"cell.alignment", alignof(wait_cell)},
        {"join", address(&join_wait)},
        {"stack.identity", offsetof(stack, identity)},
        {"identity.thread_pointer", offsetof(thread_identity, base_)},
        {"frame.bytes", WEFT_FRAME_BYTES},
#if defined(__x86_64__)
        {"frame.pc", WEFT_FRAME_RETURN},
        {"frame.rbp", WEFT_FRAME_RBP},
        {"frame.rbx", WEFT_FRAME_RBX},
        {"frame.r12", WEFT_FRAME_R12},
        {"frame.r13", WEFT_FRAME_R13},
        {"frame.r14", WEFT_FRAME_R14},
        {"frame.r15", WEFT_FRAME_R15},
#elif defined(__aarch64__)
        {"frame.pc", WEFT_FRAME_X30},
        {"frame.x29", WEFT_FRAME_X29},
        {"frame.x30", WEFT_FRAME_X30},
        {"frame.x19", WEFT_FRAME_X19},
        {"frame.x20", WEFT_FRAME_X20},
        {"frame.x21", WEFT_FRAME_X21},
        {"frame.x22", WEFT_FRAME_X22},
        {"frame.x23", WEFT_FRAME_X23},
        {"frame.x24", WEFT_FRAME_X24},
        {"frame.x25", WEFT_FRAME_X25},
        {"frame.x26", WEFT_FRAME_X26},
        {"frame.x27", WEFT_FRAME_X27},
        {"frame.x28", WEFT_FRAME_X28},
#endif
    };
    static_assert(std::size(entries) < std::size(weft_debug_layout));
    // The first entry is written last.
    for (std::size_t i = std::size(entries); i-- > 0;) weft_debug_layout[i] = entries[i];
}

#pragma GCC diagnostic pop

void describe_layout(listed_runtime* const* first) noexcept {
    if (!weft_debug_layout[0].name) debug_layout::fill(first);
}

}  // namespace weft::detail

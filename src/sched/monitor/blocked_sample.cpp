#include "sched/monitor/blocked_sample.hpp"

#include <link.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <span>
#include <string_view>

#include <weft/detail/annotated_locks.hpp>

#include "base/fork.hpp"
#include "base/futex_lock.hpp"
#include "sched/monitor/blocked_in.hpp"
#include "sched/monitor/thread_file.hpp"

namespace weft::detail {
namespace {

// The loader's lock is not freed in a child whose parent had it at the fork.
constinit futex_lock loader_walk;

[[gnu::constructor(before_static_objects)]] void hold_loader_walk() noexcept { hold_across_forks<loader_walk>(); }  // FORK-3

/// The last two words of "0 0x3 0x7f.. ... 0x7ffc.. 0x7f..\n": the stack pointer and the program counter. Of a thread
/// that is in no call but blocked, as in a page fault, the text is "-1" and these two; else it is "running".
void read_registers(std::string_view text, blocked_spot& into) noexcept {
    const auto take_last = [&](std::uintptr_t& value) {
        const auto from = text.rfind(" 0x");
        if (from == text.npos) return;
        std::from_chars(text.data() + from + 3, text.data() + text.size(), value, 16);
        text = text.substr(0, from);
    };
    take_last(into.program_counter);
    take_last(into.stack_pointer);
}

/// Whether the code before this address is a call, so that a call may return to it.
bool follows_call(const unsigned char* code, std::size_t before) noexcept {
#if defined(__x86_64__)
    if (before >= 5 && code[-5] == 0xe8) return true;  // call rel32
    // call r/m: FF /2, with two to seven bytes
    constexpr std::size_t shortest = 2, longest = 7;
    for (std::size_t n = shortest; n <= longest && n <= before; ++n)
        if (code[-static_cast<std::ptrdiff_t>(n)] == 0xff && (code[1 - static_cast<std::ptrdiff_t>(n)] & 0x38) == 0x10)
            return true;
    return false;
#elif defined(__aarch64__)
    if (before < 4 || reinterpret_cast<std::uintptr_t>(code) % 4 != 0) return false;
    const auto instruction = *reinterpret_cast<const std::uint32_t*>(code - 4);
    return (instruction & 0xfc00'0000) == 0x9400'0000 /* bl */ || (instruction & 0xfffffc1f) == 0xd63f'0000 /* blr */;
#else
#error "weft runs on x86-64 and aarch64"
#endif
}

/// Whether calls are made on behalf of others there: the C library, the loader, the hooks.
bool serves_callers(const char* path) noexcept {
    std::string_view file = path;
    file = file.substr(file.rfind('/') + 1);
    for (const std::string_view begin : {"libc.", "libc-", "libpthread", "ld-", "libweft_hooks.", "linux-vdso."})
        if (file.starts_with(begin)) return true;
    return false;
}

struct search {
    const blocked_sample& in;
    std::size_t best;  // the index of the word found
    std::uintptr_t caller = 0;
};

int look_in_object(dl_phdr_info* object, std::size_t, void* what) noexcept {
    auto& s = *static_cast<search*>(what);
    if (serves_callers(object->dlpi_name)) return 0;
    for (unsigned part = 0; part < object->dlpi_phnum; ++part) {
        const auto& p = object->dlpi_phdr[part];
        if (p.p_type != PT_LOAD || !(p.p_flags & PF_X)) continue;
        const std::uintptr_t low = object->dlpi_addr + p.p_vaddr, high = low + p.p_memsz;
        // The call is in that code itself.
        if (s.in.spot.program_counter >= low && s.in.spot.program_counter < high) {
            s.caller = s.in.spot.program_counter;
            return 1;
        }
        for (std::size_t i = 0; i < s.best; ++i) {
            const auto word = s.in.words[i];
            if (word <= low || word >= high) continue;
            if (!follows_call(reinterpret_cast<const unsigned char*>(word), word - low)) continue;
            s.best = i;
            s.caller = word;
        }
    }
    return 0;
}

}  // namespace

blocked_spot spot_of(pid_t thread) noexcept {
    std::array<char, 200> room;
    const auto text = thread_file(thread, "syscall", room);
    blocked_spot s{.number = system_call_in(text)};
    read_registers(text, s);
    return s;
}

void sample_blocked_thread(pid_t thread, blocked_sample& into) noexcept {
    into.spot = spot_of(thread);
    into.count = 0;
    if (!into.spot.is_known()) return;
    // The kernel copies, so that memory which is no stack any more does no harm. The page behind may be none of
    // the stack's, and the kernel copies what comes before that.
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto from = into.spot.stack_pointer & ~(sizeof(std::uintptr_t) - 1), to = from + sizeof into.words;
    const auto between = std::min(to, (from / page + 1) * page);
    const iovec there[] = {{reinterpret_cast<void*>(from), between - from}, {reinterpret_cast<void*>(between), to - between}};
    const iovec here{into.words.data(), sizeof into.words};
    const auto n = ::process_vm_readv(::getpid(), &here, 1, there, to == between ? 1 : 2, 0);
    if (n > 0) into.count = static_cast<std::size_t>(n) / sizeof(std::uintptr_t);
}

const void* caller_in(const blocked_sample& s) noexcept {
    search all{.in = s, .best = s.count};
    const lock_guard guard(loader_walk);
    ::dl_iterate_phdr(look_in_object, &all);
    return reinterpret_cast<const void*>(all.caller);
}

}  // namespace weft::detail

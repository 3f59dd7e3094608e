// overflow.cpp - the SIGSEGV handler behind overflow_report.
#include "stack/overflow.hpp"

#include <weft/detail/annotated_locks.hpp>

#include <dlfcn.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>

#include "base/atomic.hpp"
#include "base/direct.hpp"
#include "base/fork.hpp"
#include "base/futex_lock.hpp"
#include "base/in_quotes.hpp"
#include "stack/guard.hpp"
#include "stack/high_water.hpp"
#include "stack/stack_map.hpp"

namespace weft::detail {
namespace {

constinit atomic<overflow_namer> namer_in_use{nullptr};
constinit futex_lock installing;
constinit int reports WEFT_GUARDED_BY(installing) = 0;
constinit bool is_beneath WEFT_GUARDED_BY(installing) = false;  // OVERFLOW-2
// Written while our handler is not installed and so does not read it (OVERFLOW-1), and by the
// handler itself, for SA_RESETHAND.
struct sigaction previous_action = {};

/// A line of text built without allocating. What does not fit is cut off.
class line {
public:
    void add(std::string_view text) noexcept {
        auto const n = std::min(text.size(), text_.size() - used_);
        std::copy_n(text.data(), n, text_.data() + used_);
        used_ += n;
    }
    void add(std::uint64_t number, int base = 10) noexcept {
        std::array<char, 24> digits;
        auto const end = std::to_chars(digits.data(), digits.data() + digits.size(), number, base).ptr;
        add(std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data())));
    }
    void print() const noexcept { direct::write(STDERR_FILENO, text_.data(), used_); }

private:
    std::array<char, 640> text_;
    std::size_t used_ = 0;
};

void add_origin(line& text, overflown const& who) noexcept {
    if (who.file != nullptr) {
        text.add(", spawned at ");
        text.add(std::string_view(who.file).substr(0, 200));
        text.add(":");
        text.add(who.line);
    } else if (who.body != nullptr) {
        text.add(", body ");
        text.add(std::string_view(who.body).substr(0, 200));
    }
    if (who.id != 0) {
        text.add(", fiber ");
        text.add(who.id);
    }
}

void print_report(std::byte* address, std::size_t stack_bytes) noexcept {
    // pairs with the release in set_overflow_namer()
    auto* const namer = namer_in_use.load(acquire);
    auto const who = namer != nullptr ? namer() : overflown();
    auto const at = reinterpret_cast<std::uintptr_t>(address);
    // the low end of the stack: the guard is the page below
    std::byte* const low = address - at % page_bytes() + page_bytes();
    line text;
    text.add("weft: stack overflow");
    if (!who.name.empty()) {
        text.add(" in fiber \"");
        add_printable(who.name.substr(0, 100), [&](std::string_view piece) { text.add(piece); });
        text.add("\"");
    }
    text.add(" (stack ");
    text.add(stack_bytes / 1024);
    text.add(" KiB, ");
    text.add((touched_bytes({.low = low, .high = low + stack_bytes}) + 1023) / 1024);
    text.add(" KiB touched, address 0x");
    text.add(at, 16);
    add_origin(text, who);
    text.add(")\n");
    text.print();
}

/// Restores the default action. \returns the action before.
struct sigaction restore_default() noexcept {
    struct sigaction action = {};
    struct sigaction before = {};
    action.sa_handler = SIG_DFL;
    ::sigaction(SIGSEGV, &action, &before);
    return before;
}

/// Whether neither action calls a function.
bool is_default_or_ignored(struct sigaction const& action) noexcept {
    return (action.sa_flags & SA_SIGINFO) == 0 && (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN);
}

// Calls the previous handler as the kernel would have. \returns false if there was none.
bool call_previous(int number, siginfo_t* info, void* machine) noexcept {
    auto const action = previous_action;
    bool const wants_info = (action.sa_flags & SA_SIGINFO) != 0;
    if (is_default_or_ignored(action)) return false;
    if ((action.sa_flags & static_cast<int>(SA_RESETHAND)) != 0) previous_action = {};
    sigset_t before;
    ::pthread_sigmask(SIG_BLOCK, &action.sa_mask, &before);
    if (wants_info) action.sa_sigaction(number, info, machine);
    else action.sa_handler(number);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return true;
}

/// Sends the signal again with nothing to catch it. Returns only where the kernel spares the
/// process, as it does for the first process of a container.
void die_of(int number) noexcept {
    auto const before = restore_default();
    sigset_t one;
    sigset_t blocked;
    ::sigemptyset(&one);
    ::sigaddset(&one, number);
    ::pthread_sigmask(SIG_UNBLOCK, &one, &blocked);
    ::syscall(SYS_tgkill, ::getpid(), ::syscall(SYS_gettid), number);
    ::pthread_sigmask(SIG_SETMASK, &blocked, nullptr);
    ::sigaction(number, &before, nullptr);
}

// For signals that were sent (kill, raise, a timer). A fault recurs by itself when a handler
// returns; a sent signal does not. si_code tells them apart.
void pass_on_what_was_sent(int number, siginfo_t* info, void* machine) noexcept {
    if (call_previous(number, info, machine)) return;
    if (previous_action.sa_handler == SIG_DFL) die_of(number);
}

extern "C" void on_segv(int number, siginfo_t* info, void* machine) {
    // si_addr has no meaning then
    if (info->si_code <= 0) return pass_on_what_was_sent(number, info, machine);
    auto const bytes = stack_bytes_of_guard(info->si_addr);
    if (bytes != 0) print_report(static_cast<std::byte*>(info->si_addr), bytes);
    bool const was_called = call_previous(number, info, machine);
    // a full stack stays full, whatever a handler does
    if (bytes != 0 || !was_called) restore_default();
}

// FORK-3
[[gnu::constructor(before_static_objects)]] void overflows_follow_forks() noexcept { hold_across_forks<installing>(); }

// Another handler has the address of ours, so ours must stay when a library that contains this code
// is closed.
void stay_loaded() noexcept {
    Dl_info mine{};
    if (::dladdr(reinterpret_cast<void*>(&on_segv), &mine) != 0 && mine.dli_fname != nullptr)
        static_cast<void>(::dlopen(mine.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE));
}

bool is_ours(struct sigaction const& action) noexcept { return action.sa_sigaction == on_segv; }

}  // namespace

overflow_report::overflow_report() noexcept {
    const lock_guard lock(installing);
    if (reports++ > 0) return;
    struct sigaction now = {};
    ::sigaction(SIGSEGV, nullptr, &now);
    if (is_ours(now) || (is_beneath && !is_default_or_ignored(now))) return;  // OVERFLOW-2
    is_beneath = false;
    previous_action = now;
    struct sigaction action = {};
    action.sa_sigaction = on_segv;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigaction(SIGSEGV, &action, nullptr);
}

overflow_report::~overflow_report() {
    const lock_guard lock(installing);
    if (--reports > 0) return;
    struct sigaction now = {};
    ::sigaction(SIGSEGV, nullptr, &now);
    is_beneath = !is_ours(now);
    // the handler on top may pass signals on to ours
    if (is_beneath) stay_loaded();
    else ::sigaction(SIGSEGV, &previous_action, nullptr);
}

std::size_t alternate_stack::bytes_needed() noexcept {
    // chosen: our handler needs 2 KiB; other handlers print and walk stacks
    constexpr std::size_t for_handlers = std::size_t{32} << 10;
    // grows with the vector unit
    auto const by_libc = static_cast<std::size_t>(std::max(::sysconf(_SC_MINSIGSTKSZ), 2048L));
    // 0: a kernel before 5.14
    auto const by_kernel = static_cast<std::size_t>(::getauxval(AT_MINSIGSTKSZ));
    return (std::max(by_libc, by_kernel) + for_handlers) / page_bytes() * page_bytes() + page_bytes();
}

alternate_stack::alternate_stack() noexcept {
    bytes_ = bytes_needed();
    void* const memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    // an overflow on this thread then ends it without a report
    if (memory == MAP_FAILED) return;
    memory_ = memory;
    stack_t mine = {};
    mine.ss_sp = memory_;
    mine.ss_size = bytes_;
    stack_t previous = {};
    ::sigaltstack(&mine, &previous);
    previous_memory_ = previous.ss_sp;
    previous_bytes_ = previous.ss_size;
    previous_flags_ = previous.ss_flags;
}

alternate_stack::~alternate_stack() {
    if (memory_ == nullptr) return;
    stack_t previous = {};
    previous.ss_sp = previous_memory_;
    previous.ss_size = previous_bytes_;
    previous.ss_flags = previous_flags_;
    ::sigaltstack(&previous, nullptr);
    ::munmap(memory_, bytes_);
}

void set_overflow_namer(overflow_namer namer) noexcept {
    namer_in_use.store(namer, release);  // pairs with the acquire in print_report()
}

}  // namespace weft::detail

// signal.cpp - one handler for all signals: it marks the signal in each slot that wants it.
//
// This uses a handler and an eventfd, not a signalfd. A signalfd gets only signals that every
// thread blocks, but threads of the program and its libraries may have started before weft could
// block signals in them.
//
// Invariants
//   SIGNAL-1  The handler touches only lock-free atomics and write(2).
//   SIGNAL-2  A slot's descriptor is valid while its `wanted` is not 0, or while a handler runs
//             that entered before. The owner that gives up a slot clears `wanted`, then waits until
//             `running` is 0, then closes the descriptor. (The handler enters, then reads `wanted`;
//             the owner clears `wanted`, then reads `running`. Both sides are seq_cst, so at least
//             one of them sees the other.)
//   SIGNAL-3  A mark is set before the descriptor is written; wait() reads the descriptor before
//             the marks.
#include <weft/io/signal.hpp>

#include <weft/detail/annotated_locks.hpp>

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <string>

#include "base/atomic.hpp"
#include "base/direct.hpp"
#include "base/fork.hpp"
#include "base/futex_lock.hpp"
#include "io/operation.hpp"
#include "io/refused_here.hpp"
#include "io/reporting.hpp"
#include "io/source_pool.hpp"

namespace weft::io {
namespace {

constexpr detail::wait_kind signal_wait{.name = "signal", .ends = detail::ended_by::outside};

using detail::atomic;
using namespace std::string_literals;

constexpr int last_signal = 64;
constexpr std::size_t slot_count = 16;  // chosen: the number of objects alive at once

using signal_set = std::uint64_t;

constexpr signal_set bit(int number) noexcept { return signal_set{1} << (number - 1); }

// Rarely locked; held for a few system calls.
detail::futex_lock table_lock;

struct slot {
    atomic<signal_set> wanted{0};
    atomic<signal_set> marked{0};
    atomic<int> event{-1};
    bool taken WEFT_GUARDED_BY(table_lock) = false;
};

std::array<slot, slot_count> slots;
atomic<unsigned> running{0};  // the number of handlers that run now

std::array<unsigned, last_signal + 1> users WEFT_GUARDED_BY(table_lock){};
std::array<struct sigaction, last_signal + 1> before WEFT_GUARDED_BY(table_lock){};

void on_signal(int number) {
    const int kept = errno;
    running.fetch_add(1, detail::seq_cst);  // SIGNAL-2; pairs with ~signals()
    for (slot& s : slots) {
        // SIGNAL-2; pairs with signals() and ~signals()
        if (!(s.wanted.load(detail::seq_cst) & bit(number))) continue;
        // SIGNAL-3, pairs with take()
        s.marked.fetch_or(bit(number), detail::release);
        constexpr std::uint64_t one = 1;
        // `event` was stored before `wanted`.
        [[maybe_unused]] const auto n = detail::direct::write(s.event.load(detail::relaxed), &one, sizeof one);
    }
    running.fetch_sub(1, detail::seq_cst);  // SIGNAL-2; pairs with ~signals()
    errno = kept;
}

/// Takes the lowest marked signal; 0 if there is none.
int take(slot& s) noexcept {
    for (;;) {
        const auto marked = s.marked.load(detail::acquire);  // pairs with on_signal()
        if (marked == 0) return 0;
        const int number = std::countr_zero(marked) + 1;
        // pairs with on_signal(), and with take() in another thread
        if (s.marked.fetch_and(~bit(number), detail::acq_rel) & bit(number)) return number;
    }
}

[[noreturn]] void refuse(std::errc why, const std::string& what) { throw std::system_error(std::make_error_code(why), what); }

/// Why the signal cannot be waited for; null if it can.
const char* why_not(int number) noexcept {
    switch (number) {
        case SIGKILL:
        case SIGSTOP: return "the system lets nobody handle it";
        case SIGSEGV:
        case SIGBUS:
        case SIGFPE:
        case SIGILL:
        case SIGTRAP:
        case SIGSYS: return "it comes of what a thread has just done, which would happen again or go on wrongly";
        default: break;
    }
    if (number < 1 || number > last_signal) return "there is no such signal";
    struct sigaction now {};
    return ::sigaction(number, nullptr, &now) != 0 ? "the C library keeps it for itself" : nullptr;
}

std::string named(int number) {
    const char* const name = number > 0 && number <= last_signal ? ::sigabbrev_np(number) : nullptr;
    return std::to_string(number) + (name ? " (SIG" + std::string(name) + ")" : "");
}

signal_set checked(std::initializer_list<int> numbers) {
    signal_set set = 0;
    for (const int n : numbers) {
        if (const char* const why = why_not(n))
            refuse(std::errc::invalid_argument, "weft: io::signals cannot take signal " + named(n) + ": " + why);
        set |= bit(n);
    }
    if (set == 0) refuse(std::errc::invalid_argument, "weft: io::signals needs a signal to wait for");
    return set;
}

template <class F>
void for_each_signal(signal_set set, F&& f) {
    for (; set != 0; set &= set - 1) f(std::countr_zero(set) + 1);
}

void install(int number) noexcept WEFT_REQUIRES(table_lock) {
    if (users[static_cast<std::size_t>(number)]++ != 0) return;
    struct sigaction action {};
    action.sa_handler = on_signal;
    // SA_ONSTACK: the signal frame might not fit on a fiber's small stack.
    action.sa_flags = SA_RESTART | SA_ONSTACK;
    ::sigfillset(&action.sa_mask);
    ::sigaction(number, &action, &before[static_cast<std::size_t>(number)]);
}

void restore(int number) noexcept WEFT_REQUIRES(table_lock) {
    if (--users[static_cast<std::size_t>(number)] == 0) ::sigaction(number, &before[static_cast<std::size_t>(number)], nullptr);
}

// FORK-3: in the child, handlers that ran on other threads do not exist, so `running` is reset.
[[gnu::constructor(detail::before_static_objects)]] void signals_follow_forks() noexcept {
    detail::follow_forks({.before = []() WEFT_ACQUIRE(table_lock) { table_lock.lock(); },
                          .in_parent = []() WEFT_RELEASE(table_lock) { table_lock.unlock(); },
                          .in_child =
                              []() WEFT_RELEASE(table_lock) {
                                  running.store(0, detail::relaxed);
                                  table_lock.unlock();
                              }});
}

int claim_slot() WEFT_REQUIRES(table_lock) {
    for (std::size_t i = 0; i < slot_count; ++i)
        if (!slots[i].taken) {
            slots[i].taken = true;
            return static_cast<int>(i);
        }
    refuse(std::errc::too_many_files_open, "weft: too many io::signals at once");
}

detail::io_handle make_event() {
    detail::refuse_here("weft: signals");
    const long fd = detail::system_result([] { return ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); });
    if (fd < 0) throw std::system_error(detail::failure(fd), "weft: eventfd");
    if (auto* const s = detail::make_source(static_cast<int>(fd))) return detail::io_handle(s);
    detail::direct::close(static_cast<int>(fd));
    throw std::bad_alloc();
}

}  // namespace

signals::signals(std::initializer_list<int> numbers) { begin(numbers); }

signals::signals(std::initializer_list<int> numbers, std::error_code& error) {
    detail::reporting(error, [&] { begin(numbers); });
}

void signals::begin(std::initializer_list<int> numbers) {
    const signal_set set = checked(numbers);
    event_ = make_event();
    const detail::lock_guard guard(table_lock);
    slot_ = claim_slot();
    slot& mine = slots[static_cast<std::size_t>(slot_)];
    mine.marked.store(0, detail::relaxed);              // published by `wanted`
    mine.event.store(event_.native(), detail::relaxed);  // published by `wanted`
    mine.wanted.store(set, detail::seq_cst);            // SIGNAL-2; pairs with on_signal()
    for_each_signal(set, install);
}

signals::~signals() {
    if (slot_ < 0) return;
    slot& mine = slots[static_cast<std::size_t>(slot_)];
    const detail::lock_guard guard(table_lock);
    for_each_signal(mine.wanted.load(detail::relaxed), restore);  // this thread's own store
    mine.wanted.store(0, detail::seq_cst);  // SIGNAL-2; pairs with on_signal()
    // pairs with on_signal()
    while (running.load(detail::seq_cst) != 0) detail::thread_yield();
    mine.taken = false;
}

int signals::wait(std::error_code& error) {
    if (slot_ < 0) {
        error = detail::closed_error();
        return 0;
    }
    slot& mine = slots[static_cast<std::size_t>(slot_)];
    for (;;) {
        if (const auto interrupt = detail::pending_interrupt()) {
            error = detail::interrupt_error(*interrupt);
            return 0;
        }
        if (const int number = take(mine)) {
            error.clear();
            return number;
        }
        const auto woken = detail::perform(event_.get(), detail::io_direction::read, signal_wait, [](int fd) {
            std::uint64_t count = 0;
            return detail::direct::read(fd, &count, sizeof count);
        });
        error = woken.error;
        if (error) return 0;
    }
}

int signals::try_wait() noexcept {
    if (slot_ < 0) return 0;
    while (running.load(detail::seq_cst) != 0) detail::thread_yield();  // pairs with on_signal()
    return take(slots[static_cast<std::size_t>(slot_)]);
}

int signals::wait() {
    std::error_code error;
    const int number = wait(error);
    if (error) detail::throw_io_error(error, "weft: wait for a signal");
    return number;
}

}  // namespace weft::io

// failing.cpp - the small program while memory runs out: malloc, what is built on it (new), and mmap fail when they are told to.
//
// attack_failing count       how many allocations the program makes, about: its threads differ from run to run
// attack_failing once N      the N-th fails alone
// attack_failing from N      the N-th fails, and all after it
// Prints each part that failed and why; 0: all were right, 1: one line or more, 4: a wrong result.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>

#include "attack/calls/small_program.hpp"

namespace {

enum class failing { nothing, once, from };

// The functions below run before main and in any thread: constants only.
constinit std::atomic<failing> mode{failing::nothing};
constinit std::atomic<long> made{0};
constinit std::atomic<long> chosen{0};

bool fails() noexcept {
    if (chosen.load(std::memory_order_relaxed) == 0) return false;
    const long number = made.fetch_add(1, std::memory_order_relaxed) + 1;
    switch (mode.load(std::memory_order_relaxed)) {
        case failing::once: return number == chosen.load(std::memory_order_relaxed);
        case failing::from: return number >= chosen.load(std::memory_order_relaxed);
        case failing::nothing: break;
    }
    return false;
}

void* none() noexcept {
    errno = ENOMEM;
    return nullptr;
}

}  // namespace

// glibc's own, under the names it keeps for those who stand before it.
extern "C" {

void* __libc_malloc(std::size_t);                   // NOLINT(bugprone-reserved-identifier)
void* __libc_calloc(std::size_t, std::size_t);      // NOLINT(bugprone-reserved-identifier)
void* __libc_realloc(void*, std::size_t);           // NOLINT(bugprone-reserved-identifier)
void* __libc_memalign(std::size_t, std::size_t);    // NOLINT(bugprone-reserved-identifier)

void* malloc(std::size_t n) { return fails() ? none() : __libc_malloc(n); }
void* calloc(std::size_t n, std::size_t size) { return fails() ? none() : __libc_calloc(n, size); }
void* realloc(void* old, std::size_t n) { return fails() ? none() : __libc_realloc(old, n); }
void* aligned_alloc(std::size_t alignment, std::size_t n) { return fails() ? none() : __libc_memalign(alignment, n); }
void* memalign(std::size_t alignment, std::size_t n) { return fails() ? none() : __libc_memalign(alignment, n); }

int posix_memalign(void** into, std::size_t alignment, std::size_t n) {
    if (fails()) return ENOMEM;
    *into = __libc_memalign(alignment, n);
    return *into == nullptr ? ENOMEM : 0;
}

void* mmap(void* at, std::size_t n, int protection, int flags, int fd, off_t offset) noexcept {
    if (fails()) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return reinterpret_cast<void*>(::syscall(SYS_mmap, at, n, protection, flags, fd, offset));
}

void* mmap64(void* at, std::size_t n, int protection, int flags, int fd, off64_t offset) noexcept {
    return mmap(at, n, protection, flags, fd, offset);
}

}  // extern "C"

namespace weft::attack {
namespace {

int run_with_failures(failing how, long number) {
    mode = how;
    chosen = number;
    int code = 1;
    try {
        code = run_small_program();
    } catch (const std::exception& e) {
        std::printf("runtime: %s\n", e.what());
    }
    if (how == failing::nothing) std::printf("%ld\n", made.load());
    chosen = 0;
    return code;
}

}  // namespace
}  // namespace weft::attack

int main(int argc, char** argv) {
    static char buffer[BUFSIZ];
    std::setvbuf(stdout, buffer, _IOLBF, sizeof buffer);   // stdio would allocate one
    const std::string_view how = argc > 1 ? argv[1] : "";
    const long number = argc == 3 ? std::atol(argv[2]) : 0;
    if (how == "count" && argc == 2) return weft::attack::run_with_failures(failing::nothing, -1);
    if (number > 0 && how == "once") return weft::attack::run_with_failures(failing::once, number);
    if (number > 0 && how == "from") return weft::attack::run_with_failures(failing::from, number);
    std::fputs("attack_failing: usage: attack_failing count | once N | from N\n", stderr);
    return 2;
}

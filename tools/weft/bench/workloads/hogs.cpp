// hogs.cpp - what each kind does in a round. A round takes 10 us to 1 ms, so that they end soon when told; the blocked are freed.
#include "hogs.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <regex>
#include <stdexcept>
#include <system_error>

#include <foreign/scramble.h>
#include <weft/mutex.hpp>

namespace bench {
namespace {

[[gnu::noinline]] std::uint64_t recurse(unsigned n) { return n < 2 ? 1 : recurse(n - 1) + recurse(n - 2); }

}  // namespace

std::uint64_t fib(unsigned n) {
    asm volatile("" : "+r"(n));  // who calls it again and again wants it computed each time,
    auto value = recurse(n);
    asm volatile("" : "+r"(value));  // and who ignores the result, too
    return value;
}

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr auto burst = 30ms;  // required by issue 4
constexpr ::useconds_t nap = 50'000;  // chosen: short enough to end a run soon, long beside a tick

void recursion(hog& h) {
    while (h.goes_on()) fib(20);
}

void loop(hog& h) {
    for (std::uint64_t x = 1; h.goes_on();)
        for (int i = 0; i < 100'000; ++i) {
            x = x * 6364136223846793005u + 1442695040888963407u;
            asm volatile("" : "+r"(x));  // the compiler must not sum the series up
        }
}

void library(hog& h) {
    for (std::uint64_t x = 88172645463325252u; h.goes_on();) x = scramble(x, 100'000);
}

void allocations(hog& h) {
    std::array<void*, 64> blocks{};
    for (std::uint64_t x = 1; h.goes_on();)
        for (int i = 0; i < 1000; ++i) {
            x = scramble(x, 1);
            auto*& block = blocks[x % blocks.size()];
            std::free(block);
            block = std::malloc(16 + (x >> 8) % 4096);
        }
    for (auto* const block : blocks) std::free(block);
}

template <class Mutex>
void holding(hog& h) {
    Mutex its_own;
    while (h.goes_on()) {
        const std::lock_guard hold(its_own);
        fib(20);
    }
}

void copying(hog& h) {
    constexpr std::size_t bytes = 256 * 1024;
    std::vector<char> from(bytes, 'a'), to(bytes);
    while (h.goes_on()) {
        std::memcpy(to.data(), from.data(), bytes);
        asm volatile("" : : "r"(to.data()) : "memory");  // the copy is needed
    }
}

void matching(hog& h) {
    // One for all: making one writes to a cache of libstdc++ without a lock.
    static const std::regex words("([a-z]+) ([a-z]+ )*([0-9]+)");
    const std::string text = "one of the hogs looks for words and then for 12345";  // short: the matcher recurses
    while (h.goes_on())
        if (!std::regex_search(text, words)) throw std::logic_error("std::regex finds nothing");
}

[[gnu::noinline]] void throw_from(int depth) {
    if (depth == 0) throw std::runtime_error("thrown by a hog");
    throw_from(depth - 1);
    asm volatile("");  // not a tail call: each level is a frame to unwind
}

void throwing(hog& h) {
    while (h.goes_on()) try {
            throw_from(8);
        } catch (const std::runtime_error&) {}
}

void bursts(hog& h) {
    while (h.goes_on()) {
        for (const auto end = clock::now() + burst; clock::now() < end && h.goes_on();) fib(15);
        h.give_way();
    }
}

void sleeping(hog& h) {
    while (h.goes_on()) ::usleep(nap);
}

/// A lock belongs to an open file, so each hog opens its own.
void waiting_for_a_file(hog& h) {
    const int mine = ::open(("/proc/self/fd/" + std::to_string(h.held_file())).c_str(), O_RDWR | O_CLOEXEC);
    if (mine < 0) throw std::system_error(errno, std::generic_category(), "opening a locked file");
    while (h.goes_on()) ::flock(mine, LOCK_EX);
    ::close(mine);
}

int held_file() {
    const int file = ::memfd_create("held", MFD_CLOEXEC);
    if (file < 0 || ::flock(file, LOCK_EX) != 0) throw std::system_error(errno, std::generic_category(), "locking a file");
    return file;
}

}  // namespace

std::span<const hog_kind> hog_kinds() {
    static const std::array kinds{
        hog_kind{"recursion", "naive fib", true, recursion},
        hog_kind{"loop", "a loop without a call", true, loop},
        hog_kind{"library", "a loop in a C library compiled apart at -O3", true, library},
        hog_kind{"malloc", "malloc and free of up to 4 KiB", true, allocations},
        hog_kind{"lock", "computes while it holds a std::mutex of its own", true, holding<std::mutex>},
        hog_kind{"weft-lock", "the same with a weft::mutex", true, holding<weft::mutex>},
        hog_kind{"memcpy", "copies 256 KiB again and again", true, copying},
        hog_kind{"regex", "std::regex_search", true, matching},
        hog_kind{"exceptions", "throws through eight frames", true, throwing},
        hog_kind{"bursts", "computes for 30 ms, gives way, and again", true, bursts},
        hog_kind{"sleep", "sleeps in libc, 50 ms at a time", false, sleeping},
        hog_kind{"flock", "waits for a file that somebody else has locked", false, waiting_for_a_file},
    };
    return kinds;
}

crew::crew(const hog_kind& kind, unsigned k, void (*give_way)()) : kind_(kind), held_file_(bench::held_file()) {
    for (unsigned i = 0; i < k; ++i) hogs_.push_back(std::make_unique<hog>(over_, held_file_, give_way));
}

crew::~crew() { ::close(held_file_); }

void crew::end() {
    over_.store(true, std::memory_order_relaxed);  // the hogs are joined
    ::flock(held_file_, LOCK_UN);
}

std::uint64_t crew::rounds() const {
    std::uint64_t sum = 0;
    for (const auto& h : hogs_) sum += h->rounds();
    return sum;
}

}  // namespace bench

// sampled_stack.cpp - the perf event that samples a thread, and the record that the kernel writes.
#include "stack/sampled_stack.hpp"

#include <linux/perf_event.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "base/atomic.hpp"
#include "base/direct.hpp"
#include "base/fork.hpp"

namespace weft::detail {
namespace {

constexpr std::uint64_t nanoseconds_to_sample = 100'000;  // chosen: soon, but after the thread has gone on
constexpr std::size_t most_in_sample = 64;  // chosen: as much as a reader looks at
constexpr std::size_t data_pages = 2;  // required: a power of two; holds several samples

int open_event(pid_t thread) noexcept {
    perf_event_attr asked = {};
    asked.size = sizeof asked;
    asked.type = PERF_TYPE_SOFTWARE;
    asked.config = PERF_COUNT_SW_TASK_CLOCK;
    asked.sample_period = nanoseconds_to_sample;
    asked.sample_type = PERF_SAMPLE_CALLCHAIN;
    asked.sample_max_stack = most_in_sample;
    asked.exclude_kernel = 1;  // or kernel.perf_event_paranoid = 2 refuses it
    asked.exclude_hv = 1;
    asked.exclude_callchain_kernel = 1;
    asked.wakeup_events = 1;
    constexpr int any_cpu = -1, no_group = -1;
    return static_cast<int>(::syscall(SYS_perf_event_open, &asked, thread, any_cpu, no_group, PERF_FLAG_FD_CLOEXEC));
}

// What the kernel shares of an event: a page that says how far the records go, and the records.
class shared_records {
public:
    explicit shared_records(int event) noexcept
        : page_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))),
          at_(::mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, event, 0)) {}
    ~shared_records() {
        if (at_ != MAP_FAILED) ::munmap(at_, bytes());
    }
    shared_records(const shared_records&) = delete;
    shared_records& operator=(const shared_records&) = delete;

    bool are_there() const noexcept { return at_ != MAP_FAILED; }

    // The first record lies at the front and is not overwritten, since data_tail stays 0.
    // \returns the chain in it; nothing while there is no record, or if it is none of a chain.
    std::span<const std::uint64_t> chain() const noexcept {
        if (static_cast<const volatile perf_event_mmap_page*>(at_)->data_head == 0) return {};
        fence(acquire);  // pairs with the kernel, which writes the record before data_head
        const auto* const record = reinterpret_cast<const perf_event_header*>(static_cast<const char*>(at_) + page_);
        if (record->type != PERF_RECORD_SAMPLE) return {};
        const auto* const words = reinterpret_cast<const std::uint64_t*>(record + 1);
        const auto room = (record->size - sizeof *record) / sizeof *words;
        return {words + 1, std::min<std::size_t>(words[0], room - 1)};
    }

private:
    std::size_t bytes() const noexcept { return (1 + data_pages) * page_; }

    std::size_t page_;
    void* at_;
};

// Code without frame pointers uses that register for other things, and then the chain ends in what
// lies where those point to.
constexpr bool can_be_code(std::uint64_t address) noexcept { return address >= 4096 && address >> 56 == 0; }

// \returns false if `until` has passed first, or the thread has ended.
bool await_record(int event, time_point until) noexcept {
    for (;;) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - clock::now());
        pollfd waits{.fd = event, .events = POLLIN, .revents = 0};
        using namespace std::chrono_literals;
        const long n = direct::poll(&waits, 1, std::clamp<std::chrono::milliseconds>(left, 0s, 1s));
        if (n > 0) return (waits.revents & POLLIN) != 0;
        if (left <= 0s || (n < 0 && n != -EINTR)) return false;
    }
}

}  // namespace

std::size_t sample_running_stack(pid_t thread, std::span<void*> into, time_point until) noexcept {
    if (thread == ::gettid()) return 0;  // it sleeps here
    const int opened = open_event(thread);
    if (opened < 0) return 0;
    const unshared_descriptor event(opened);
    const shared_records records(event.get());
    if (!records.are_there() || !await_record(event.get(), until)) return 0;
    std::size_t n = 0;
    for (const auto address : records.chain()) {
        if (address >= static_cast<std::uint64_t>(PERF_CONTEXT_MAX)) continue;  // a mark between the parts of a chain
        if (n == into.size() || !can_be_code(address)) break;
        into[n++] = reinterpret_cast<void*>(address);
    }
    return n;
}

}  // namespace weft::detail

#include "io/files/ring.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <numeric>

#include "arch/valgrind.hpp"
#include "base/direct.hpp"
#include "base/system_call.hpp"

namespace weft::detail {
namespace {

long made_call(long number, long a, long b, long c, long d, long e, long f) noexcept {
#if WEFT_CALLS_DIRECTLY
    return system_call(number, a, b, c, d, e, f);
#else
    return system_result([&] { return ::syscall(number, a, b, c, d, e, f); });
#endif
}

/// The ring in its cheapest mode that the kernel knows.
long set_up(unsigned entries, unsigned completions, io_uring_params& made) noexcept {
    constexpr std::uint32_t modes[] = {IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,  // from 6.1
                                       IORING_SETUP_COOP_TASKRUN};                               // from 5.19
    for (const auto mode : modes) {
        made = {};
        made.flags = mode | IORING_SETUP_CQSIZE;
        made.cq_entries = completions;
        const long result = made_call(SYS_io_uring_setup, entries, system_argument(&made), 0, 0, 0, 0);
        if (result != -EINVAL) return result;
    }
    return -ENOSYS;
}

/// An open of a FIFO, a sync or the like keeps a thread of the kernel for as long as it waits. By itself the
/// kernel has four for each CPU, and all else would wait behind as many that wait for each other.
void allow_workers(int ring, unsigned most) noexcept {
    std::uint32_t bounded_and_others[] = {most, 0};
    constexpr long maximum_workers = 19;  // IORING_REGISTER_IOWQ_MAX_WORKERS; before 5.15 it changes nothing
    made_call(SYS_io_uring_register, ring, maximum_workers, system_argument(bounded_and_others), 2, 0, 0);
}

template <class T>
T* at(void* area, std::uint32_t offset) noexcept {
    return reinterpret_cast<T*>(static_cast<char*>(area) + offset);
}

void* mapped(int fd, std::size_t bytes, off_t what) noexcept {
    void* const area = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, what);
    if (area == MAP_FAILED) return nullptr;
    ::madvise(area, bytes, MADV_DONTFORK);  // RING-3
    return area;
}

}  // namespace

ring::~ring() {
    if (entries_) ::munmap(entries_, entries_bytes_);
    if (queues_) ::munmap(queues_, queues_bytes_);
}

long ring::open(unsigned entries, unsigned completions) noexcept {
    if (running_on_valgrind()) return -ENOSYS;  // 3.19 keeps all other threads waiting during io_uring_enter
    io_uring_params made;
    const long fd = set_up(entries, completions, made);
    if (fd < 0) return fd;
    descriptor_.emplace(static_cast<int>(fd));
    constexpr auto needed = IORING_FEAT_SINGLE_MMAP | IORING_FEAT_NODROP | IORING_FEAT_EXT_ARG;  // RING-2
    if ((made.features & needed) != needed) return -ENOSYS;
    allow_workers(descriptor_->get(), entries);
    return map(made);
}

long ring::map(const io_uring_params& made) noexcept {
    const auto& s = made.sq_off;
    const auto& c = made.cq_off;
    queues_bytes_ = std::max(s.array + made.sq_entries * sizeof(std::uint32_t), c.cqes + made.cq_entries * sizeof(io_uring_cqe));
    entries_bytes_ = made.sq_entries * sizeof(io_uring_sqe);
    queues_ = mapped(descriptor_->get(), queues_bytes_, IORING_OFF_SQ_RING);
    entries_ = static_cast<io_uring_sqe*>(mapped(descriptor_->get(), entries_bytes_, IORING_OFF_SQES));
    if (!queues_ || !entries_) return -ENOMEM;
    submitted_to_ = at<kernel_word>(queues_, s.tail);
    submitted_from_ = at<kernel_word>(queues_, s.head);
    completed_to_ = at<kernel_word>(queues_, c.tail);
    completed_from_ = at<kernel_word>(queues_, c.head);
    completions_ = at<io_uring_cqe>(queues_, c.cqes);
    mask_ = *at<std::uint32_t>(queues_, s.ring_mask);
    completion_mask_ = *at<std::uint32_t>(queues_, c.ring_mask);
    filled_ = submitted_to_->load(relaxed);  // this side's own word
    auto* const order = at<std::uint32_t>(queues_, s.array);
    std::iota(order, order + made.sq_entries, 0u);  // entry n is always the one at place n
    return 0;
}

io_uring_sqe* ring::next() noexcept {
    // acquire: pairs with the kernel, which has read the entry before it moves the head
    if (filled_ - submitted_from_->load(acquire) > mask_) return nullptr;
    return &entries_[filled_++ & mask_];
}

/// \returns  how many entries enter() has to take.
unsigned ring::publish() noexcept {
    submitted_to_->store(filled_, release);            // pairs with the kernel, which reads the entries after it
    return filled_ - submitted_from_->load(relaxed);  // the kernel moves it in enter() only (RING-1)
}

long ring::enter(unsigned least) noexcept {
    const long result = made_call(SYS_io_uring_enter, descriptor_->get(), publish(), least, IORING_ENTER_GETEVENTS, 0, 0);
    return std::min(result, 0L);
}

long ring::enter_for(unsigned least, std::chrono::nanoseconds most) noexcept {
    const __kernel_timespec limit{.tv_sec = most / std::chrono::seconds(1), .tv_nsec = (most % std::chrono::seconds(1)).count()};
    io_uring_getevents_arg more{};
    more.ts = reinterpret_cast<std::uintptr_t>(&limit);
    const long result = made_call(SYS_io_uring_enter, descriptor_->get(), publish(), least,
                                  IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG, system_argument(&more), sizeof more);
    return std::min(result, 0L);
}

std::optional<ring::completion> ring::take() noexcept {
    const auto from = completed_from_->load(relaxed);  // this side's own word
    // pairs with the kernel, which has written the completion before
    if (from == completed_to_->load(acquire)) return std::nullopt;
    const auto& c = completions_[from & completion_mask_];
    const completion taken{.user_data = c.user_data, .result = c.res, .flags = c.flags};
    completed_from_->store(from + 1, release);  // pairs with the kernel, which writes to the place again
    return taken;
}

}  // namespace weft::detail

// ring.cpp - what liburing 2.3 offers, with exceptions in place of negated errnos.
#include "ring.hpp"

#include <sys/mman.h>
#include <sys/socket.h>

#include <system_error>

#include "system.hpp"

namespace bench::uring {
namespace {

constexpr int group = 0;  // of buffers; a ring has one

unsigned flags(ring_mode m) noexcept {
    switch (m) {
        case ring_mode::defer_taskrun: return IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
        case ring_mode::coop_taskrun: return IORING_SETUP_COOP_TASKRUN;
        case ring_mode::default_flags: break;
    }
    return 0;
}

int answered(int result, const char* call) {
    if (result < 0) throw std::system_error(-result, std::generic_category(), call);
    return result;
}

/// A message of one byte through the ring. \throws  std::system_error
void try_out(ring_mode m) {
    int ends[2];
    checked(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), "socketpair");
    const descriptor near(ends[0]), far(ends[1]);
    ring r(m, {});
    r.arm_receive(far.get(), 0);
    r.submit();
    checked(::write(near.get(), "x", 1), "write");
    r.submit_and_wait();
    r.take_completions([](const io_uring_cqe& done) {
        answered(done.res, "a multishot receive");
        if (!(done.flags & IORING_CQE_F_MORE)) answered(-EOPNOTSUPP, "a multishot receive");
    });
}

}  // namespace

const char* name(ring_mode m) noexcept {
    switch (m) {
        case ring_mode::defer_taskrun: return "defer-taskrun";
        case ring_mode::coop_taskrun: return "coop-taskrun";
        case ring_mode::default_flags: break;
    }
    return "default-flags";
}

void ring::unmap::operator()(void* memory) const noexcept { ::munmap(memory, bytes); }

ring::ring(ring_mode m, ring_sizes sizes) {
    io_uring_params wanted{};
    wanted.flags = flags(m) | IORING_SETUP_CQSIZE | IORING_SETUP_SUBMIT_ALL;
    wanted.cq_entries = sizes.completions;
    answered(io_uring_queue_init_params(sizes.submissions, &ring_, &wanted), "io_uring_setup");
    try {
        set_up_buffers(sizes.buffers);
    } catch (...) {
        io_uring_queue_exit(&ring_);
        throw;
    }
}

ring::~ring() { io_uring_queue_exit(&ring_); }

void ring::set_up_buffers(unsigned count) {
    const std::size_t bytes = count * sizeof(io_uring_buf);
    void* const mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
    if (mapped == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
    listed_ = {static_cast<io_uring_buf_ring*>(mapped), unmap{bytes}};
    io_uring_buf_reg wanted{};
    wanted.ring_addr = reinterpret_cast<std::uintptr_t>(mapped);
    wanted.ring_entries = count;
    wanted.bgid = group;
    answered(io_uring_register_buf_ring(&ring_, &wanted, 0), "a ring of buffers");
    mask_ = count - 1;
    memory_ = std::make_unique<std::byte[]>(count * buffer_bytes);
    for (unsigned i = 0; i < count; ++i) give_back(static_cast<std::uint16_t>(i));
}

void ring::register_for_this_thread() { answered(io_uring_register_ring_fd(&ring_), "io_uring_register"); }

io_uring_sqe& ring::next_submission() {
    auto* free = io_uring_get_sqe(&ring_);
    if (!free) {
        submit();
        free = io_uring_get_sqe(&ring_);
    }
    return *free;
}

void ring::arm_receive(int fd, std::uint64_t user_data) {
    auto& s = next_submission();
    io_uring_prep_recv_multishot(&s, fd, nullptr, 0, 0);
    s.flags |= IOSQE_BUFFER_SELECT;
    s.buf_group = group;
    io_uring_sqe_set_data64(&s, user_data);
}

void ring::submit_send(int fd, std::span<const std::byte> bytes, std::uint64_t user_data) {
    auto& s = next_submission();
    io_uring_prep_send(&s, fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    io_uring_sqe_set_data64(&s, user_data);
}

void ring::submit() { answered(io_uring_submit(&ring_), "io_uring_enter"); }

void ring::submit_and_wait() {
    const int n = io_uring_submit_and_wait(&ring_, 1);
    if (n != -EINTR) answered(n, "io_uring_enter");
}

received ring::bytes_of(const io_uring_cqe& done) const noexcept {
    const auto buffer = static_cast<std::uint16_t>(done.flags >> IORING_CQE_BUFFER_SHIFT);
    return {{memory_.get() + buffer * buffer_bytes, static_cast<std::size_t>(done.res)}, buffer};
}

void ring::give_back(std::uint16_t buffer) noexcept {
    io_uring_buf_ring_add(listed_.get(), memory_.get() + buffer * buffer_bytes, buffer_bytes, buffer, static_cast<int>(mask_), 0);
    io_uring_buf_ring_advance(listed_.get(), 1);
}

std::optional<std::string> refusal(ring_mode m) try {
    try_out(m);
    return std::nullopt;
} catch (const std::system_error& e) {
    return e.what();
}

}  // namespace bench::uring

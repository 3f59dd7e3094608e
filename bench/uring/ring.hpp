// ring.hpp - an io_uring in one of three modes, with multishot receives into buffers that the
// kernel takes from a ring.
#pragma once

#include <liburing.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace bench::uring {

/// When the kernel finishes what the ring has armed. It does so on the thread that submitted it, in
/// every mode.
enum class ring_mode : std::uint8_t {
    defer_taskrun,  ///< when the thread asks for completions; only it may submit (SINGLE_ISSUER)
    coop_taskrun,   ///< when the thread enters or leaves the kernel for any reason
    default_flags,  ///< at once: the thread is interrupted
};
inline constexpr std::array all_modes{ring_mode::defer_taskrun, ring_mode::coop_taskrun, ring_mode::default_flags};

const char* name(ring_mode) noexcept;

struct ring_sizes {
    unsigned submissions = 64;
    unsigned completions = 256;
    unsigned buffers = 64;  ///< a power of two
};

/// What a receive has brought.
struct received {
    std::span<const std::byte> bytes;
    std::uint16_t buffer = 0;  ///< to be given back
};

class ring {
public:
    static constexpr std::size_t buffer_bytes = 1024;

    /// Its submitter is the calling thread. \throws  std::system_error if the kernel refuses the
    /// mode or the buffers.
    ring(ring_mode, ring_sizes);
    ring(const ring&) = delete;
    ~ring();

    /// Spares the kernel the look-up of the ring's descriptor in each call; only the calling thread
    /// may enter the ring then.
    void register_for_this_thread();

    /// Arms a receive that completes for each message until a completion has no IORING_CQE_F_MORE.
    void arm_receive(int fd, std::uint64_t user_data);
    void submit_send(int fd, std::span<const std::byte>, std::uint64_t user_data);
    void submit();
    /// Submits, and waits for a completion at least.
    void submit_and_wait();

    /// Calls f(io_uring_cqe&) for each completion that is there.
    template <class F>
    void take_completions(F&& f) {
        unsigned head = 0, taken = 0;
        io_uring_cqe* done = nullptr;
        io_uring_for_each_cqe(&ring_, head, done) {
            ++taken;
            f(*done);
        }
        io_uring_cq_advance(&ring_, taken);
    }
    received bytes_of(const io_uring_cqe& done) const noexcept;
    void give_back(std::uint16_t buffer) noexcept;

    /// How many completions there have been, modulo 2^32. Any thread may look.
    unsigned completed() const noexcept { return io_uring_smp_load_acquire(ring_.cq.ktail); }
    /// Asks the kernel to bring what is finished. \returns  0 or a negated errno.
    int ask_for_completions() noexcept { return io_uring_get_events(&ring_); }

private:
    struct unmap {
        std::size_t bytes;
        void operator()(void* memory) const noexcept;
    };
    io_uring_sqe& next_submission();
    void set_up_buffers(unsigned count);

    io_uring ring_{};
    unsigned mask_ = 0;
    std::unique_ptr<io_uring_buf_ring, unmap> listed_;
    std::unique_ptr<std::byte[]> memory_;
};

/// \returns  why the kernel does not receive through such a ring, found by trying; nothing if it
/// does.
std::optional<std::string> refusal(ring_mode);

}  // namespace bench::uring

// thread_identity.hpp - what makes a fiber a thread to the code it calls.
//
// Libraries keep state per thread: errno, thread_local objects, keys, error queues, the owner of a lock. A
// fiber that waits inside such a library goes on on another OS thread, and meanwhile other fibers run on
// this one. An identity is a thread of the C library whose kernel thread has ended. While the thread pointer
// of the carrier that runs the fiber is that of the identity, all of this state belongs to the fiber
// (docs/design/identities.md; attributes::as_thread, this_fiber::as_thread).
//
//     made      pthread_create(); the thread learns where its block is, and its kernel thread ends
//     entered   the thread pointer of a carrier is that of the identity
//     left      the thread pointer is the carrier's own again
//     ended     the thread gets a kernel thread again and returns from its start function: destructors of
//               thread_local objects and of keys run, and pthread_join() takes it away
//
// Invariants
//   THREAD_IDENTITY-1  An identity is in the pool, or belongs to one fiber. It is entered on at most one
//                      carrier, the one that runs the fiber.
//   THREAD_IDENTITY-2  Code that may leave the fiber's stack runs under the carrier's own thread pointer, and
//                      all other code of the fiber under that of the identity. So a carrier leaves the
//                      identity before each switch from such a fiber (outside_identity), and the carrier that
//                      resumes the fiber enters it after the switch.
//   THREAD_IDENTITY-3  weft_carrier_word of the identity is stored before the thread pointer, so a signal
//                      handler that comes in between finds the carrier under either. It is null again before
//                      destructors run at the end. weft_exception_word of an identity is null.
//   THREAD_IDENTITY-4  A fiber with an identity runs no other fiber inside itself (CARRIER-3). A fiber that
//                      begins with one has a stack of its own.
//   THREAD_IDENTITY-5  The number in the block, by which the C library knows the owner of a lock, is above
//                      every number of the kernel's and below the bits of a futex, and is used once.
//   THREAD_IDENTITY-6  An identity goes back to the pool as it is, like a thread of a thread pool: the next
//                      fiber finds the thread_local objects of the last one.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <cstdint>

#include "base/atomic.hpp"
#include "sched/identity/thread_shape.hpp"

namespace weft::detail {

// THREAD_IDENTITY-5
inline constexpr std::uint32_t first_identity_number = std::uint32_t{1} << 29, past_identity_numbers = std::uint32_t{1} << 30;

class thread_identity {
public:
    /// \throws  std::system_error  if the system refuses a thread or memory.
    thread_identity(stack_pool& stacks, const thread_shape& shape);
    /// Only after end() has returned true.
    ~thread_identity() = default;
    thread_identity(const thread_identity&) = delete;
    thread_identity& operator=(const thread_identity&) = delete;

    /// Makes the caller's thread pointer that of the identity, and back. Not inlined, so that no address of a
    /// thread_local object is kept across the call.
    [[gnu::noinline]] void enter() noexcept;
    [[gnu::noinline]] void leave() noexcept;

    /// Ends it as a thread, and waits: destructors of the program's thread_local objects run on that thread.
    /// \returns  false if the system refuses a thread; then nothing has changed.
    [[nodiscard]] bool end() noexcept;
    /// Tries until the system has a thread.
    void end_for_certain() noexcept;

    /// By which the C library knows it as the owner of a lock.
    std::uint32_t number() const noexcept;

    /// Called in a forked child, inside the identity: the C library takes it for the only thread, and that is
    /// what it is from now on.
    void become_thread_of_child() noexcept;

    thread_identity* next = nullptr;  // in the pool

private:
    friend struct debug_layout;

    static void* live(void* self) noexcept;
    bool learn() noexcept;
    void become_plain() noexcept;
    void await_kernel_thread() const noexcept;

    std::uintptr_t base_ = 0;  // the thread pointer of this thread
    std::uintptr_t carrier_base_ = 0;  // while it is entered: that of the carrier
    void** carrier_word_ = nullptr;  // weft_carrier_word of this thread
    void* number_ = nullptr;  // where the C library keeps the kernel's number of this thread
    void* sp_ = nullptr;
    atomic<std::uint32_t> has_kernel_thread_{1};  // written by the kernel
    bool is_known_ = false;  // learn() has found everything
    sigset_t signals_;  // of the thread that ends it
    const thread_shape& shape_;
    stack_pool& stacks_;
    stack* home_ = nullptr;
    pthread_t thread_{};
};

struct identity_support {
    bool is_there;
    const char* why_not;
};
/// Whether fibers can be threads in this process. The first call makes an identity, and tries it.
/// \throws  std::system_error  if the system refuses a thread or memory for that.
const identity_support& identities_here();
/// What threads look like, once identities_here() says that there are identities.
const thread_shape& shape_here() noexcept;

}  // namespace weft::detail

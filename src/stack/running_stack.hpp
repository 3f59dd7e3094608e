// running_stack.hpp - reads the return addresses of another thread while it computes.
//
// The thread reads its addresses itself, in a signal handler. The signal may come inside malloc,
// the unwinder or the dynamic loader, whose locks the thread may hold, and that limits what the
// handler may do. It walks the chain of frame pointers inside the stack it was interrupted on and
// stores what it finds: loads from mapped memory, no lock, no call. (backtrace() takes a lock of
// the loader or of libgcc in some versions of both, and trusts unwind tables;
// docs/design/handoff.md.) For code without frame pointers the thread's own address is exact, but
// few or none of its callers are found.
//
// There is one request at a time in the whole process. One word holds its state and the thread it
// is for.
//
//  state      meaning                             leaves by (a: asker, h: handler of the thread)
//  idle       no request                          a -> asked
//  asked      for the thread in the word          h -> answering | a withdraw -> idle
//  answering  the handler writes the addresses    h -> answered
//  answered   the addresses belong to the asker   a -> idle
//
// Invariants
//   RUNNING_STACK-1  A handler answers only a request for its own thread, by a compare-exchange of
//                    state and thread together. A handler for a late signal, or for one sent by
//                    other code, finds another request or none, and does nothing.
//   RUNNING_STACK-2  The addresses belong to the handler between `answering` and `answered`, and to
//                    the asker otherwise.
//   RUNNING_STACK-3  The signal is sent only while the handler is ours, because the default action
//                    of most signals ends the process.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include <weft/detail/clock.hpp>

namespace weft::detail {

enum class [[nodiscard]] signal_claim : std::uint8_t { granted, has_handler, ignored, refused };

/// Installs the handler for that signal, or counts one more user of it. Unless it returns
/// `granted`, nothing was changed.
signal_claim claim_stack_signal(int number) noexcept;
/// Called once for each claim that was granted. The last call removes the handler, unless another
/// handler has been installed over it.
void release_stack_signal(int number) noexcept;
/// Lets the calling thread be asked, even if it has inherited a mask that blocks the signal.
void unblock_stack_signal(int number) noexcept;

/// The address where `thread`, a thread of this process, is now, and the addresses of its callers,
/// the innermost first. By that signal, or if `number` is 0 by a sample of the kernel's
/// (sampled_stack.hpp).
/// \returns the number of addresses; 0 if it has not answered by `until`, the handler is not ours
/// any more, or the kernel refuses the sample.
std::size_t read_running_stack(pid_t thread, int number, std::span<void*> into, time_point until) noexcept;

}  // namespace weft::detail

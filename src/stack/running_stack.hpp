// running_stack.hpp - the return addresses of another thread that computes: it reads them itself, in the handler of a signal.
//
// What the handler may do is decided by where the signal may come: inside malloc, the unwinder or the dynamic loader, whose locks
// the thread may hold. So it walks the chain of frame pointers inside the stack it was interrupted on and stores what it finds:
// loads from memory that is mapped, no lock, no call. (backtrace() takes the loader's lock or libgcc's in some versions of both, and
// trusts unwind tables; docs/design/handoff.md.) Code without frame pointers gives its own address exactly, of its callers few or none.
//
// One request at a time, for the whole process, in one word: the state and the thread it concerns.
//
//  state      meaning                                  leaves by (a: who asks, h: the handler of the thread asked)
//  idle       no request                               a -> asked
//  asked      for the thread named                     h -> answering | a withdraw -> idle
//  answering  the handler writes the addresses         h -> answered
//  answered   they are the asker's                     a -> idle
//
// Invariants
//   N1  A handler answers only a request that names its thread, by a compare-exchange of state and thread together: a signal that
//       comes late, or from somebody else, finds another request or none and does nothing.
//   N2  The addresses are written from `answering` to `answered` by the handler, and are the asker's otherwise.
//   N3  The signal is sent only while the handler is ours: the default action of most signals ends the process.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include <weft/detail/clock.hpp>

namespace weft::detail {

enum class [[nodiscard]] signal_claim : std::uint8_t { granted, has_handler, ignored, refused };

/// Installs the handler for that signal, or counts one more user of it. Unless granted, nothing was changed.
signal_claim claim_stack_signal(int number) noexcept;
/// Once for each that was granted. The last one takes the handler away, unless somebody has put another in its place.
void release_stack_signal(int number) noexcept;
/// Lets the calling thread be asked, whatever it has inherited.
void unblock_stack_signal(int number) noexcept;

/// Where the thread, which is one of this process, is now and whence it was called, innermost first.
/// \returns how many addresses; 0: it has not answered by `until`, or the handler is not ours any more.
std::size_t read_running_stack(pid_t thread, int number, std::span<void*> into, time_point until) noexcept;

}  // namespace weft::detail

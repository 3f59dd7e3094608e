// exiting.hpp - what ends: the process, so that what is an error at any other time is none, since static objects end then while threads and
// fibers go on; only the library; a thread.
#pragma once

#include <string_view>

namespace weft::detail {

/// Whether the caller is called, from afar, by exit(). A cold path: it reads unwind tables.
bool is_called_by_exit() noexcept;

/// For a destructor function: whether the library with this code in it is closed, not the process ended. Only then what it owns is to be
/// given back; at the end of a process others may still use it.
bool library_is_closed() noexcept;

/// Calls `f(nullptr)` when the calling thread ends, as if it destroyed a thread_local object made now; the loader keeps the library so
/// long. May be called while the thread is ending, too; but from the destructor of a pthread key it is too late, and `f` is never called.
/// \returns false if there is no memory for it.
bool call_at_thread_end(void (*f)(void*)) noexcept;

/// From now on fibers exist that wait for what others own, and never run again (a simulated run that could not go on).
void note_abandoned_fibers() noexcept;

/// As require(), in a destructor. exit() may destroy a static object with which fibers have to do that are never stopped;
/// so may anybody where such fibers were abandoned. \returns whether nobody uses the object any more: false where exit() destroys it too early.
bool require_at_end(bool condition, std::string_view rule, std::string_view detail = {}) noexcept;

}  // namespace weft::detail

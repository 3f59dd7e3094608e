// exiting.hpp - asks what ends: the process, only this library, or the calling thread.
//
// At the end of the process some conditions are not errors, although they are errors at any other
// time: static objects are destroyed then while threads and fibers still run.
#pragma once

#include <string_view>

namespace weft::detail {

/// Whether exit() is among the callers of the caller. A cold path: it reads unwind tables.
bool is_called_by_exit() noexcept;

/// For destructor functions: whether the library that contains this code is being closed, and not
/// the process ending. Only then the library gives back what it owns; at the end of a process other
/// threads may still use it.
bool library_is_closed() noexcept;

/// Calls `f(nullptr)` when the calling thread ends, as if a thread_local object made now were
/// destroyed. The loader keeps the library until then. May also be called while the thread ends,
/// but not from the destructor of a pthread key: that is too late, and `f` is never called.
/// \returns false if there is no memory for it.
bool call_at_thread_end(void (*f)(void*)) noexcept;

/// Notes that from now on there are fibers that wait for things and never run again (a simulated
/// run that could not go on).
void note_abandoned_fibers() noexcept;

/// As require(), for destructors, but tolerates two cases in which fibers still use the object.
/// exit() may destroy a static object while fibers, which it never stops, use it. And any thread
/// may destroy an object that abandoned fibers use.
/// \returns false if exit() destroys the object while it is still in use.
bool require_at_end(bool condition, std::string_view rule, std::string_view detail = {}) noexcept;

}  // namespace weft::detail

// exiting.hpp - whether the process is about to end, so that what is an error at any other time is none: static objects end then while
// threads and fibers go on.
#pragma once

#include <string_view>

namespace weft::detail {

/// Whether the caller is called, from afar, by exit(). A cold path: it reads unwind tables.
bool is_called_by_exit() noexcept;

/// From now on fibers exist that wait for what others own, and never run again (a simulated run that could not go on).
void note_abandoned_fibers() noexcept;

/// As require(), in a destructor. exit() may destroy a static object with which fibers have to do that are never stopped;
/// so may anybody where such fibers were abandoned.
void require_at_end(bool condition, std::string_view rule, std::string_view detail = {}) noexcept;

}  // namespace weft::detail

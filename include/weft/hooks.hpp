// hooks.hpp - what was done in the calls of unmodified libraries that park instead of blocking.
//
// With runtime_options::hooks and libweft_hooks.so, calls that block park in fibers that are threads
// (attributes::as_thread, this_fiber::as_thread). See docs/guide/20-libraries-that-block.md.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

namespace weft::hooks {

/// One place in the code of the program or of a library that calls a function which may block.
struct site {
    std::string call;         ///< the function that it calls, "poll"; if that is not hooked, the system call
    std::string object_file;  ///< the library or program that the place is in: "libpq.so.5.15"
    std::string function;     ///< "pqSocketPoll+0x5a"; without symbols only the offset in the file
    std::uint64_t calls = 0;   ///< of hooked functions, by fibers that are threads
    std::uint64_t parks = 0;   ///< waits in which the thread ran other fibers
    /// Calls that were made as they are because the hooks cannot wait in their place, such as reads of
    /// files. They may have blocked their thread.
    std::uint64_t blocks = 0;
    /// Calls, by any fiber, that have blocked for so long that the worker was handed over to another thread,
    /// since somebody had waited for it.
    std::uint64_t hand_offs = 0;
    std::chrono::nanoseconds blocked{};        ///< how long these have lasted in all
    std::chrono::nanoseconds longest_block{};  ///< and the longest of them
};

/// \returns whether the hooks are there, loaded or linked, and a runtime with hooks has been made.
[[nodiscard]] WEFT_EXPORT bool active() noexcept;

/// \returns all places that fibers have called from in this process, those with the most calls first;
///          empty if the hooks are not active. The time of a call that still blocks is not in it yet.
[[nodiscard]] WEFT_EXPORT std::vector<site> report();

/// Calls from a library, or from the program, block from now on as they would without hooks.
/// \param library  a file name, "libpq.so.5", or a whole path; the program's own is "".
/// \throws std::system_error  no_such_file_or_directory: none of that name is loaded;
///         operation_not_permitted: the hooks are not active
WEFT_EXPORT void leave_alone(std::string_view library);

/// Makes the calls of a library reach the hooks although its search order hides them, as that of a
/// library that was opened with RTLD_DEEPBIND does.
/// \throws std::system_error  as leave_alone(); or what the system says of changing the library's tables;
///         not_supported: the hooks are linked statically
WEFT_EXPORT void adopt(std::string_view library);

}  // namespace weft::hooks

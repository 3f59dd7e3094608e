// left_stack.hpp - where a stack that somebody has left would go on, and whence that was called.
//
// By the program's own unwinder, so that it needs no frame pointers and no library: weft_call_from_context lies in between, a
// function whose unwind information says that it was called by who left the stack (context.S). The unwinder reads the stack, so nobody
// may go on with it meanwhile. It takes no lock with a C library that has _dl_find_object (glibc 2.35); with others that of the dynamic
// loader, so a stack that was left inside the loader must not be held (a constructor of a library that parks).
#pragma once

#include <cstddef>
#include <span>

#include "arch/context.hpp"

namespace weft::detail {

/// \returns how many return addresses were stored, innermost first; those for which there is no room are left out.
std::size_t read_left_stack(const context& c, std::span<void*> into) noexcept;

}  // namespace weft::detail

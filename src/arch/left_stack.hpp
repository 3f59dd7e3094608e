// left_stack.hpp - reads the return addresses of a stack that its code has left.
//
// It uses the program's own unwinder, so it needs no frame pointers and no library.
// weft_call_from_context (context.S) calls the unwinder; its unwind information says that the code
// that left the stack is its caller. The unwinder reads the stack, so no code may go on with the
// stack meanwhile. With a C library that has _dl_find_object (glibc 2.35) it takes no lock. With
// others it takes the lock of the dynamic loader; then a stack that was left inside the loader (by
// a constructor of a library that parks) must not be held.
#pragma once

#include <cstddef>
#include <span>

#include "arch/context.hpp"

namespace weft::detail {

/// \returns how many return addresses were stored, the innermost first. Those without room in
/// `into` are left out.
std::size_t read_left_stack(const context& c, std::span<void*> into) noexcept;

}  // namespace weft::detail

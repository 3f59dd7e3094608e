// interrupted.cpp - where_interrupted() for x86-64.
#include "arch/interrupted.hpp"

#include <ucontext.h>

namespace weft::detail {

interrupted where_interrupted(const void* machine) noexcept {
    const auto& registers = static_cast<const ucontext_t*>(machine)->uc_mcontext.gregs;
    return {.code = static_cast<std::uintptr_t>(registers[REG_RIP]),
            .stack = static_cast<std::uintptr_t>(registers[REG_RSP]),
            .frame = static_cast<std::uintptr_t>(registers[REG_RBP])};
}

}  // namespace weft::detail

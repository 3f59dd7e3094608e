// interrupted.cpp - where_interrupted() for aarch64.
#include "arch/interrupted.hpp"

#include <ucontext.h>

namespace weft::detail {

interrupted where_interrupted(const void* machine) noexcept {
    constexpr int frame_register = 29;  // required: by the procedure call standard
    const auto& m = static_cast<const ucontext_t*>(machine)->uc_mcontext;
    return {.code = m.pc, .stack = m.sp, .frame = m.regs[frame_register]};
}

}  // namespace weft::detail

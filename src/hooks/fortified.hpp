// fortified.hpp - the check of the functions that compilers call in place of read() and others.
#pragma once

#include <cstddef>
#include <cstdlib>

#include "hooks/real.hpp"

namespace weft::hooks {

/// Ends the program, as the C library would, if a buffer is too small for what is asked.
inline void check_room(std::size_t asked, std::size_t room) {
    if (asked <= room) [[likely]]
        return;
    if (auto* const fail = real_function<"__chk_fail", void()>::get()) fail();
    std::abort();
}

}  // namespace weft::hooks

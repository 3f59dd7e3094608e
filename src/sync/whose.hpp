// whose.hpp - describes the owner of a lock in the message about a broken contract.
//
// It does not name the owner, because an owner that forgot to unlock may be gone.
#pragma once

#include <string_view>

#include "sched/wait/wait.hpp"

namespace weft::detail {

inline std::string_view whose(const wait_cell* owner) noexcept {
    if (!owner) return "it is free";
    return owner == &this_cell() ? "it is the caller's" : "it is another's";
}

}  // namespace weft::detail

// step.hpp - what a thread is about to do, as far as the order of two threads' steps can matter.
#pragma once

#include <cstdint>

#include "model/history.hpp"

namespace model {

enum class access : std::uint8_t {
    local,       ///< matters to nobody else
    read,
    write,       ///< also a read-modify-write, even one that may fail
    sc_fence,
    fence_elsewhere,  ///< a fence in another thread, whatever that is about to do
    futex_wait,  ///< reads the word, then sleeps at its address
    futex_wake,
    timeout,     ///< ends a sleep by itself
};

struct step {
    access kind = access::local;
    bool sc = false;
    const history* where = nullptr;
    const void* address = nullptr;  ///< of the futex
};

/// \returns whether running a and b in either order leads to the same state, so that one order is enough.
[[nodiscard]] inline bool independent(const step& a, const step& b) noexcept {
    if (a.kind == access::local || b.kind == access::local) return true;
    if (a.kind == access::fence_elsewhere || b.kind == access::fence_elsewhere) return false;
    if (a.kind == access::sc_fence) return b.kind != access::sc_fence && !b.sc;
    if (b.kind == access::sc_fence) return !a.sc;
    if (a.address != nullptr && a.address == b.address) return false;
    if (a.kind == access::timeout && b.kind == access::timeout) return false;  // they share an allowance
    const bool matters = a.kind == access::write || b.kind == access::write || (a.sc && b.sc);  // S orders two loads too
    return !(matters && a.where != nullptr && a.where == b.where);
}

}  // namespace model

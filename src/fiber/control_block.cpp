// control_block.cpp - bodies on the heap, and the state of a fiber as dumps show it.
#include "fiber/control_block.hpp"

#include <algorithm>
#include <bit>
#include <new>

namespace weft::detail {

void* control_block::spill(std::size_t bytes, std::size_t alignment) {
    const auto aligned = std::max(alignment, body_alignment);
    void* const heap = ::operator new(bytes, std::align_val_t{aligned});
    spilled = static_cast<std::uint8_t>(std::countr_zero(aligned));
    return heap;
}

void control_block::free_spilled(void* what) noexcept {
    ::operator delete(what, std::align_val_t{std::size_t{1} << std::exchange(spilled, std::uint8_t{0})});
}

fiber_state state_of(const control_block& f) noexcept {
    // all of these are hints: the fiber may move on meanwhile
    if (!f.life.in_use()) return fiber_state::free;
    if (f.has_ended()) return fiber_state::done;
    if (f.cold().word.state() != wait_state::active) return fiber_state::waiting;
    return f.phase.load(relaxed);
}

std::string_view name(fiber_state s) noexcept {
    switch (s) {
        case fiber_state::free: return "free";
        case fiber_state::created: return "created";
        case fiber_state::runnable: return "runnable";
        case fiber_state::running: return "running";
        case fiber_state::waiting: return "waiting";
        case fiber_state::done: return "done";
    }
    return "?";
}

}  // namespace weft::detail

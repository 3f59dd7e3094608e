#include "fiber/control_block.hpp"

namespace weft::detail {

fiber_state state_of(const control_block& f) noexcept {
    if (f.references.load(relaxed) == 0) return fiber_state::free;  // hints all: the fiber may move on meanwhile
    if (f.done.load(relaxed)) return fiber_state::done;
    if (f.word.state() != wait_state::active) return fiber_state::waiting;
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

// outer_wait.cpp - a wait of sched/wait/wait.hpp in the room of an outer_wait.
#include "sched/wait/outer_wait.hpp"

#include <memory>

#include "sched/wait/wait.hpp"

namespace weft::detail {
namespace {

wait& wait_of(std::byte* room) noexcept { return *std::launder(reinterpret_cast<wait*>(room)); }
const wait& wait_of(const std::byte* room) noexcept { return *std::launder(reinterpret_cast<const wait*>(room)); }

}  // namespace

outer_wait::outer_wait(const wait_kind& kind, const void* object) noexcept {
    static_assert(sizeof(wait) <= room_of_wait && alignof(wait) <= 8);
    ::new (static_cast<void*>(room_)) wait({.kind = kind, .object = object});
}

outer_wait::~outer_wait() { std::destroy_at(&wait_of(room_)); }

wait_cell& outer_wait::cell() noexcept { return wait_of(room_).cell(); }
wait_ticket outer_wait::ticket() const noexcept { return wait_of(room_).ticket(); }
wait_end outer_wait::park() noexcept { return wait_of(room_).park(); }

}  // namespace weft::detail

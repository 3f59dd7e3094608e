#include "sched/identity/lock_owners.hpp"

#include <array>

#include "base/atomic.hpp"
#include "sched/identity/thread_identity.hpp"

namespace weft::detail {
namespace {

constexpr unsigned index_bits = 12;  // chosen: numbers follow one another, so some thousand fibers at a time are told apart
constexpr unsigned free_bits = 3;    // a cell is aligned, and an address of a program has 48 bits
constexpr unsigned rest_at = 48 - free_bits;

// relaxed: hints, and the cell is an address to compare
constinit std::array<atomic<std::uint64_t>, std::size_t{1} << index_bits> owner_slots;

atomic<std::uint64_t>& owner_slot_of(std::uint32_t number) noexcept { return owner_slots[number & (owner_slots.size() - 1)]; }

std::uint64_t rest_of(std::uint32_t number) noexcept {
    return std::uint64_t{(number - first_identity_number) >> index_bits} << rest_at;
}
std::uint64_t pack(std::uint32_t number, const wait_cell& cell) noexcept {
    return rest_of(number) | reinterpret_cast<std::uintptr_t>(&cell) >> free_bits;
}

}  // namespace

void set_lock_owner(std::uint32_t number, const wait_cell& cell) noexcept {
    owner_slot_of(number).store(pack(number, cell), relaxed);
}

void clear_lock_owner(std::uint32_t number, const wait_cell& cell) noexcept {
    auto mine = pack(number, cell);
    static_cast<void>(owner_slot_of(number).compare_exchange_strong(mine, 0, relaxed, relaxed));
}

const wait_cell* lock_owner(std::uint32_t number) noexcept {
    if (number < first_identity_number || number >= past_identity_numbers) return nullptr;
    constexpr auto cell_bits = (std::uint64_t{1} << rest_at) - 1;
    const auto word = owner_slot_of(number).load(relaxed);
    if ((word & ~cell_bits) != rest_of(number)) return nullptr;
    return reinterpret_cast<const wait_cell*>((word & cell_bits) << free_bits);
}

}  // namespace weft::detail

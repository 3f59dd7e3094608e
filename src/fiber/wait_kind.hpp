// wait_kind.hpp - what a fiber or a thread waits for: a constant beside the code that waits.
//
// No list names all kinds. A lock or a wait of any layer, and of any library above weft, is known
// to dumps, the debugger, deadlock reports and the simulation by what its kind says of itself.
//
// Invariants
//   WAIT_KIND-1  A kind is never destroyed while a fiber may wait for it: it is a constant at
//                namespace scope, of the program or of a library that stays loaded.
//   WAIT_KIND-2  `holders` is asked only while the waiting fiber is held (WAIT_WORD-7), so the
//                object is there. It takes no lock but the object's, and waits for nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace weft::detail {

struct wait_cell;

/// What ends a wait, apart from a stop and a deadline.
enum class ended_by : std::uint8_t {
    fibers,   // another fiber or thread of the program, which may itself be waiting
    outside,  // time, the kernel, another process: a deadlock report does not count on such a wait
};

/// Where an object keeps the cell of its holder, for a debugger, which can call no function.
struct holder_place {
    enum class form : std::uint8_t {
        unknown,
        pointer,  // the word at object + offset is the cell's address, but for its lowest bits
        inside,   // the cell is at object + offset
    };
    form is = form::unknown;
    std::ptrdiff_t offset = 0;
};

/// A member that cannot be copied, so that no wait can refer to a copy in a frame (WAIT_KIND-1).
struct in_one_place {
    in_one_place() = default;
    in_one_place(const in_one_place&) = delete;
    in_one_place& operator=(const in_one_place&) = delete;
};

struct wait_kind {
    /// Writes the cells of the fibers and threads that must act before the wait can end: the owner
    /// of a lock, the fiber that is joined. Their owners may be gone; the cells are addresses to
    /// compare. \returns how many there are, at most as many as fit.
    using holder_finder = std::size_t(const void* object, std::span<const wait_cell*> into) noexcept;

    // in dumps and reports; no kind of another file of src has it (scripts/check_waits)
    const char* name;
    ended_by ends = ended_by::fibers;
    holder_finder* holders = nullptr;  // null: none are known
    holder_place held_at = {};
    bool shows_call = false;  // the object is a hook_call of base/hook_table.hpp, on the fiber's stack
    [[no_unique_address]] in_one_place once = {};
};

/// Of a cell that has not waited yet.
inline constexpr wait_kind no_wait{.name = "nothing"};

/// For a holder_finder that knows one cell, or none.
inline std::size_t only_holder(const wait_cell* holder, std::span<const wait_cell*> into) noexcept {
    if (!holder || into.empty()) return 0;
    into[0] = holder;
    return 1;
}

}  // namespace weft::detail

// closing.cpp - close() and the other calls that end a descriptor: the fibers that wait for it are told.
//
// CLOSING-1  The fibers are told before the descriptor ends, and never afterwards: by then the number may
//            belong to another file, for which other fibers wait. A fiber that begins to wait in between
//            waits for the old file, as a thread would.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "hooks/descriptor.hpp"
#include "hooks/entry.hpp"

namespace weft::hooks {
namespace {

/// \param first, last  the descriptors that `end` ends.
template <class End>
auto tell_and(unsigned first, unsigned last, const End& end) {
    // Pairs with weft_take_hooks().
    const hook_table* const t = table.load(detail::acquire);
    if (!t) [[likely]]
        return end();
    for (unsigned fd = first; fd <= last; ++fd) t->closing(static_cast<int>(fd));
    return end();
}

template <class End>
auto tell_and(int fd, const End& end) {
    if (fd < 0) return end();
    return tell_and(static_cast<unsigned>(fd), static_cast<unsigned>(fd), end);
}

/// Whether dup2() will give `to` another file. If not, no fiber is told.
bool replaces(int from, int to) noexcept {
    // relaxed: a hint
    return from != to && (!table.load(detail::relaxed) || flags_of(from) >= 0);
}

// Flags of close_range() with which something is closed: none, or CLOSE_RANGE_UNSHARE.
constexpr int closes = 1 << 1;

}  // namespace
}  // namespace weft::hooks

using namespace weft::hooks;

extern "C" {
#pragma GCC visibility push(default)
int close(int fd) {
    return tell_and(fd, [&] { return call_real<"close", int(int), SYS_close>(fd); });
}

int dup2(int from, int to) noexcept {
    const auto plain = [&] {
        // There is no such system call on aarch64, and dup3() refuses what is no copy.
        return call_real_or<"dup2", int(int, int)>(
            [&] { return give(from == to ? (flags_of(from) < 0 ? -EBADF : to) : direct(SYS_dup3, from, to, 0)); }, from, to);
    };
    return replaces(from, to) ? tell_and(to, plain) : plain();
}

int dup3(int from, int to, int flags) noexcept {
    const auto plain = [&] { return call_real<"dup3", int(int, int, int), SYS_dup3>(from, to, flags); };
    return flags & ~O_CLOEXEC || !replaces(from, to) ? plain() : tell_and(to, plain);
}

int close_range(unsigned first, unsigned last, int flags) noexcept {
    const auto plain = [&] {
        return call_real<"close_range", int(unsigned, unsigned, int), SYS_close_range>(first, last, flags);
    };
    // Pairs with weft_take_hooks().
    if (first > last || flags & ~closes || !table.load(weft::detail::acquire)) return plain();
    return tell_and(first, static_cast<unsigned>(std::min<unsigned long>(last, bound_of_descriptors())), plain);
}
#pragma GCC visibility pop
}

// selecting.cpp - select() and pselect().
//
// SELECTING-1  The sets that the kernel overwrites are copies until the call succeeds; a call that fails
//              leaves the caller's as they were, and asks again with what was asked.
#include <signal.h>
#include <sys/select.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

#include "hooks/clock.hpp"
#include "hooks/descriptor.hpp"
#include "hooks/entry.hpp"
#include "hooks/polling.hpp"

namespace weft::hooks {
namespace {

using word = unsigned long;
constexpr unsigned word_bits = 64;

/// What the kernel takes for pselect()'s last argument.
struct mask_argument {
    const sigset_t* mask;
    std::size_t bytes;
};

long select_now(int count, void* in, void* out, void* other, const timespec* limit, const sigset_t* mask = nullptr) noexcept {
    timespec left{};
    if (limit) left = *limit;  // the kernel writes to it
    const mask_argument argument{mask, 8};
    return direct(SYS_pselect6, count, in, out, other, limit ? &left : nullptr, &argument);
}

class selection {
public:
    selection(fiber_call& call, int count, fd_set* in, fd_set* out, fd_set* other) noexcept
        : call_(call), users_{in, out, other} {
        // Programs ask for as many as there could be, with sets that are smaller: the kernel reads no further
        // than its table.
        if (count > FD_SETSIZE) count = static_cast<int>(std::min(static_cast<unsigned long>(count), bound_of_descriptors()));
        count_ = count;
        words_ = (static_cast<std::size_t>(count_) + word_bits - 1) / word_bits;
    }

    long run(std::int64_t until, bool may_wait) {
        if (!make_room()) return -ENOMEM;
        long r = look();
        if (r != 0 || !may_wait) return finish(r);
        if (!list_wanted()) return -ENOMEM;
        bool is_first = true;  // it has been looked
        r = look_until(
            call_, until, [&] { return std::exchange(is_first, false) ? 0 : look(); },
            [&](std::int64_t u) { return park_for(call_, wanted_, wanted_count_, u); },
            [&] {
                copy();
                const timespec left = as_timespec(until - call_.now());
                return select_now(count_, set(0), set(1), set(2), until == hook_never ? nullptr : &left);
            });
        return finish(r);
    }

private:
    static constexpr std::size_t few_words = FD_SETSIZE / word_bits, few_wanted = 64;

    word* set(std::size_t i) noexcept { return users_[i] ? copies_ + i * words_ : nullptr; }

    bool make_room() noexcept {
        if (words_ <= few_words) return true;
        many_words_.reset(new (std::nothrow) word[3 * words_]);
        copies_ = many_words_.get();
        return copies_ != nullptr;
    }

    void copy() noexcept {
        for (std::size_t i = 0; i < 3; ++i)
            if (users_[i]) std::memcpy(set(i), users_[i], words_ * sizeof(word));
    }

    long look() noexcept {
        constexpr timespec none{};
        copy();
        return select_now(count_, set(0), set(1), set(2), &none);
    }

    long finish(long r) noexcept {
        if (r >= 0)
            for (std::size_t i = 0; i < 3; ++i)
                if (users_[i]) std::memcpy(users_[i], set(i), words_ * sizeof(word));
        return r;
    }

    word asked(std::size_t i, std::size_t at) const noexcept {
        word bits = 0;
        if (users_[i]) std::memcpy(&bits, reinterpret_cast<const char*>(users_[i]) + at * sizeof(word), sizeof bits);
        if (at + 1 == words_ && static_cast<unsigned>(count_) % word_bits)
            bits &= (word{1} << static_cast<unsigned>(count_) % word_bits) - 1;
        return bits;
    }

    bool list_wanted() noexcept {
        std::size_t n = 0;
        for (std::size_t at = 0; at < words_; ++at)
            n += static_cast<std::size_t>(std::popcount(asked(0, at) | asked(1, at) | asked(2, at)));
        if (n > few_wanted) {
            many_wanted_.reset(new (std::nothrow) pollfd[n]);
            wanted_ = many_wanted_.get();
            if (!wanted_) return false;
        }
        for (std::size_t at = 0; at < words_; ++at) {
            const word in = asked(0, at), out = asked(1, at), other = asked(2, at);
            for (word all = in | out | other; all; all &= all - 1) {
                const auto bit = static_cast<unsigned>(std::countr_zero(all));
                const int fd = static_cast<int>(at * word_bits + bit);
                if (at > 0 && flags_of(fd) < 0) continue;  // the kernel's table has no place for it, so nobody has complained
                const auto is_in = [bit](word set) { return (set >> bit & 1) != 0; };
                const int events = (is_in(in) ? POLLIN : 0) | (is_in(out) ? POLLOUT : 0) | (is_in(other) ? POLLPRI : 0);
                wanted_[wanted_count_++] = {fd, static_cast<short>(events), 0};
            }
        }
        return true;
    }

    fiber_call& call_;
    const std::array<fd_set*, 3> users_;
    int count_;
    std::size_t words_;
    std::array<word, 3 * few_words> few_words_;
    std::array<pollfd, few_wanted> few_wanted_;
    std::unique_ptr<word[]> many_words_;
    std::unique_ptr<pollfd[]> many_wanted_;
    word* copies_ = few_words_.data();
    pollfd* wanted_ = few_wanted_.data();
    std::size_t wanted_count_ = 0;
};

/// \returns  false: the C library refuses it.
bool read_limit(const timeval& t, std::int64_t& ns) noexcept {
    if (t.tv_sec < 0 || t.tv_usec < 0) return false;
    constexpr long microseconds_per_second = 1'000'000;
    ns = nanoseconds(t.tv_sec + t.tv_usec / microseconds_per_second, t.tv_usec % microseconds_per_second * microsecond);
    return true;
}

long select_until(fiber_call& call, int count, fd_set* in, fd_set* out, fd_set* other, timeval* limit) {
    std::int64_t ns = hook_never;
    if (limit && !read_limit(*limit, ns)) return -EINVAL;
    if (count < 0) return -EINVAL;
    const auto until = after(call.now(), ns);
    const long r = selection(call, count, in, out, other).run(until, ns != 0);
    if (limit) {
        const timespec left = as_timespec(until - call.now());
        *limit = {left.tv_sec, left.tv_nsec / microsecond};
    }
    return r;
}

/// select() without the C library: the limit is a timeval, which gets what is left of it.
long plain_select(int count, fd_set* in, fd_set* out, fd_set* other, timeval* limit) noexcept {
    std::int64_t ns = hook_never;
    if (limit && !read_limit(*limit, ns)) return -EINVAL;
    timespec left = as_timespec(ns);
    const mask_argument none{nullptr, 8};
    const long r = direct(SYS_pselect6, count, in, out, other, limit ? &left : nullptr, &none);
    if (limit) *limit = {left.tv_sec, left.tv_nsec / microsecond};
    return r;
}

[[gnu::always_inline]] inline int select_for(const char* name, const void* caller, int count, fd_set* in, fd_set* out,
                                             fd_set* other, timeval* limit) {
    return enter(
        name, caller, -1,
        [&](fiber_call& call) -> int { return static_cast<int>(give(select_until(call, count, in, out, other, limit))); },
        [&] {
            return call_real_or<"select", int(int, fd_set*, fd_set*, fd_set*, timeval*)>(
                [&] { return give(plain_select(count, in, out, other, limit)); }, count, in, out, other, limit);
        });
}

}  // namespace
}  // namespace weft::hooks

using namespace weft::hooks;

extern "C" {
#pragma GCC visibility push(default)
int select(int count, fd_set* in, fd_set* out, fd_set* other, timeval* limit) {
    return select_for("select", WEFT_CALLER, count, in, out, other, limit);
}
int __select(int count, fd_set* in, fd_set* out, fd_set* other, timeval* limit) {
    return select_for("select", WEFT_CALLER, count, in, out, other, limit);
}

int pselect(int count, fd_set* in, fd_set* out, fd_set* other, const timespec* limit, const sigset_t* mask) {
    const auto plain = [&] { return give(select_now(count, in, out, other, limit, mask)); };
    return enter(
        "pselect", WEFT_CALLER, -1,
        [&](fiber_call& call) -> int {
            if (mask || count < 0 || (limit && !is_valid(*limit))) {
                call.note_block();
                return static_cast<int>(plain());
            }
            const auto ns = limit ? nanoseconds(*limit) : hook_never;
            return static_cast<int>(give(selection(call, count, in, out, other).run(after(call.now(), ns), ns != 0)));
        },
        [&] {
            return call_real_or<"pselect", int(int, fd_set*, fd_set*, fd_set*, const timespec*, const sigset_t*)>(
                plain, count, in, out, other, limit, mask);
        });
}
#pragma GCC visibility pop
}

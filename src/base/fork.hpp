// fork.hpp - what weft's parts do when the process forks, so that the child, which has one thread only, can begin anew.
//
// A child inherits memory in whatever state the other threads left it. Process-wide locks are held across the fork and thus free in
// the child; what belongs to a runtime stays as it is and is never used there again: it has another generation (docs/design/process.md).
//
// Invariants
//   F1  Locks held across a fork are leaves: nobody takes another one under them, so their order does not matter.
//       One that is not, a pool's, is taken first: who registers later is called earlier before a fork.
//   F2  A child's first code of weft's are the functions registered here, in the one thread it has.
//   F3  Whoever follows forks begins so when the code is loaded, while there is one thread: a local static that another thread is
//       making at the moment of a fork is never made in the child, and who asks for it there waits for ever. So what a runtime
//       needs is no such static, or is asked for before the fork.
#pragma once

#include <utility>

#include "base/intrusive_list.hpp"

namespace weft::detail {

/// For [[gnu::constructor]]: the first that the compiler leaves to programs. Static objects are made later, in whatever file.
inline constexpr int before_static_objects = 101;
/// For [[gnu::destructor]]: when the library is closed, or the process ends (library_is_closed()). The lower the number, the later.
inline constexpr int after_static_objects = before_static_objects;

struct fork_steps {
    void (*before)() = nullptr;  // in the thread that forks, as the next
    void (*in_parent)() = nullptr;
    void (*in_child)() = nullptr;
};

/// From now on, at each fork(2); posix_spawn and vfork are none. Without memory for it there is nothing done.
void follow_forks(const fork_steps& steps) noexcept;

/// How many forks lie between the process that was started and this one, as far as any part of weft was in use then.
unsigned fork_generation() noexcept;

/// Nobody else has the global `Lock` while the process forks (F1).
template <auto& Lock>
void hold_across_forks() noexcept {
    static const bool once = [] {
        follow_forks({.before = [] { Lock.lock(); }, .in_parent = [] { Lock.unlock(); }, .in_child = [] { Lock.unlock(); }});
        return true;
    }();
    static_cast<void>(once);
}

/// The same for the lock of what `Owner()` returns, which is there for good, and is made then if need be. Once.
template <auto Owner>
void hold_lock_across_forks() noexcept {
    follow_forks({.before = [] { Owner().lock.lock(); },
                  .in_parent = [] { Owner().lock.unlock(); },
                  .in_child = [] { Owner().lock.unlock(); }});
}

/// A descriptor that only this process can use, so that a forked child closes it.
class unshared_descriptor : public list_hook<unshared_descriptor> {
public:
    /// -1: none.
    explicit unshared_descriptor(int fd) noexcept;
    ~unshared_descriptor();
    unshared_descriptor(const unshared_descriptor&) = delete;
    unshared_descriptor& operator=(const unshared_descriptor&) = delete;

    int get() const noexcept { return fd_; }

private:
    static void close_all_in_child() noexcept;

    int fd_;
};

}  // namespace weft::detail

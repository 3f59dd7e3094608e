// fork.hpp - what the parts of weft do when the process forks, so that the child can start anew.
//
// A child has only one thread, and inherits memory in whatever state the other threads left it.
// Process-wide locks are held across the fork, and so are free in the child. What belongs to a
// runtime stays as it is and is never used in the child: it has another generation
// (docs/design/process.md).
//
// Invariants
//   FORK-1  Locks held across a fork are leaves: no thread takes another lock under them, so their
//           order does not matter. The one lock that is not a leaf, that of a pool, is taken first:
//           handlers that are registered later are called earlier before a fork.
//   FORK-2  In a child, the functions registered here run before any other code of weft, in the
//           child's only thread.
//   FORK-3  A part that follows forks registers when the code is loaded, while there is only one
//           thread. If another thread is initializing a local static at the moment of a fork, it is
//           never initialized in the child, and a thread of the child that uses it waits for ever.
//           So an object that a runtime needs is not such a static, or it is used before the fork.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/thread_safety.hpp>

#include <utility>

#include "base/intrusive_list.hpp"

namespace weft::detail {

/// For [[gnu::constructor]]: the first priority that the compiler leaves to programs. Static
/// objects of all files are made later.
inline constexpr int before_static_objects = 101;
/// For [[gnu::destructor]]: runs when the library is closed or the process ends
/// (library_is_closed()). A lower number runs later.
inline constexpr int after_static_objects = before_static_objects;

struct fork_steps {
    // called in the thread that forks, as is the next
    void (*before)() = nullptr;
    void (*in_parent)() = nullptr;
    void (*in_child)() = nullptr;
};

/// Calls the steps at each fork(2) from now on; posix_spawn and vfork do not count. Does nothing if
/// there is no memory for it.
WEFT_EXPORT void follow_forks(const fork_steps& steps) noexcept;

/// Changes when a fork begins and when it has ended, here and in the child; odd in between. A
/// descriptor that was opened after this returned an even number has no copy in a child as long as
/// this returns the same number.
unsigned fork_count() noexcept;

/// The number of forks between the process that was started and this one, counted from when the
/// first part of weft was in use.
unsigned fork_generation() noexcept;

/// Holds the global `Lock` while the process forks, so that no other thread has it then (FORK-1).
template <auto& Lock>
void hold_across_forks() noexcept {
    static const bool once = [] {
        // not analysed: a template's argument cannot be named by an annotation
        follow_forks({.before = []() WEFT_NO_THREAD_SAFETY_ANALYSIS { Lock.lock(); },
                      .in_parent = []() WEFT_NO_THREAD_SAFETY_ANALYSIS { Lock.unlock(); },
                      .in_child = []() WEFT_NO_THREAD_SAFETY_ANALYSIS { Lock.unlock(); }});
        return true;
    }();
    static_cast<void>(once);
}

/// As hold_across_forks(), for the lock of the object that `Owner()` returns. That object is never
/// destroyed, and is made at a fork if need be. Called once.
template <auto Owner>
void hold_lock_across_forks() noexcept {
    // not analysed, for the same reason
    follow_forks({.before = []() WEFT_NO_THREAD_SAFETY_ANALYSIS { Owner().lock.lock(); },
                  .in_parent = []() WEFT_NO_THREAD_SAFETY_ANALYSIS { Owner().lock.unlock(); },
                  .in_child = []() WEFT_NO_THREAD_SAFETY_ANALYSIS { Owner().lock.unlock(); }});
}

/// A descriptor that only this process can use, so that a forked child closes it.
class unshared_descriptor : public list_hook<unshared_descriptor> {
public:
    /// -1: no descriptor.
    explicit unshared_descriptor(int fd) noexcept;
    ~unshared_descriptor();
    unshared_descriptor(const unshared_descriptor&) = delete;
    unshared_descriptor& operator=(const unshared_descriptor&) = delete;

    int get() const noexcept { return fd_; }

private:
    static void close_all_in_child() noexcept;  // gives the lock of the list up

    int fd_;
};

}  // namespace weft::detail

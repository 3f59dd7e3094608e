// thread_safety.hpp - macros that tell clang's thread-safety analysis which lock guards what.
//
// With clang's -Wthread-safety a field that is used without its lock is a warning. Other compilers
// ignore all of this. A program that uses weft may annotate its own fields with these macros:
//
//     weft::mutex lock;
//     int balance WEFT_GUARDED_BY(lock) = 0;
//     void add_locked(int cents) WEFT_REQUIRES(lock);
//
// The guards of libstdc++ have no annotations, so that the analysis does not see that they hold a
// lock. A program that wants it to see that writes a guard of its own:
//
//     class WEFT_SCOPED_CAPABILITY holding {
//     public:
//         explicit holding(weft::mutex& m) WEFT_ACQUIRE(m) : lock_(m) { m.lock(); }
//         ~holding() WEFT_RELEASE() { lock_.unlock(); }
//
//     private:
//         weft::mutex& lock_;
//     };
//
// \source  https://clang.llvm.org/docs/ThreadSafetyAnalysis.html
#pragma once

#include <weft/detail/requirements.hpp>

#if defined(__clang__)
#define WEFT_THREAD_SAFETY(...) __attribute__((__VA_ARGS__))
#else
#define WEFT_THREAD_SAFETY(...)
#endif

/// On a class: its objects are locks. `name` is what a warning calls them.
#define WEFT_CAPABILITY(name) WEFT_THREAD_SAFETY(capability(name))
/// On a class: its objects hold a lock from the constructor to the destructor.
#define WEFT_SCOPED_CAPABILITY WEFT_THREAD_SAFETY(scoped_lockable)

/// On a variable: it is used only while its lock is held.
#define WEFT_GUARDED_BY(...) WEFT_THREAD_SAFETY(guarded_by(__VA_ARGS__))
/// On a pointer: what it points to is used only while its lock is held.
#define WEFT_PT_GUARDED_BY(...) WEFT_THREAD_SAFETY(pt_guarded_by(__VA_ARGS__))

/// On a function: the caller holds the lock, before and after the call.
#define WEFT_REQUIRES(...) WEFT_THREAD_SAFETY(requires_capability(__VA_ARGS__))
/// On a function: the caller does not hold the lock.
#define WEFT_EXCLUDES(...) WEFT_THREAD_SAFETY(locks_excluded(__VA_ARGS__))
/// On a function: it takes the lock, which the caller holds afterwards.
#define WEFT_ACQUIRE(...) WEFT_THREAD_SAFETY(acquire_capability(__VA_ARGS__))
/// On a function: the caller holds the lock, and the function gives it up.
#define WEFT_RELEASE(...) WEFT_THREAD_SAFETY(release_capability(__VA_ARGS__))
/// On a function: it has taken the lock if it returns the first argument.
#define WEFT_TRY_ACQUIRE(...) WEFT_THREAD_SAFETY(try_acquire_capability(__VA_ARGS__))
/// The same three for a lock that several readers hold together.
#define WEFT_ACQUIRE_SHARED(...) WEFT_THREAD_SAFETY(acquire_shared_capability(__VA_ARGS__))
#define WEFT_RELEASE_SHARED(...) WEFT_THREAD_SAFETY(release_shared_capability(__VA_ARGS__))
#define WEFT_TRY_ACQUIRE_SHARED(...) WEFT_THREAD_SAFETY(try_acquire_shared_capability(__VA_ARGS__))
/// On a function: the lock that it returns a reference to.
#define WEFT_RETURN_CAPABILITY(lock) WEFT_THREAD_SAFETY(lock_returned(lock))
/// On a function that the analysis cannot follow. A comment beside it says why.
#define WEFT_NO_THREAD_SAFETY_ANALYSIS WEFT_THREAD_SAFETY(no_thread_safety_analysis)

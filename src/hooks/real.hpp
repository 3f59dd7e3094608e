// real.hpp - the C library's own functions, which this library hides.
//
// A call that is not a fiber's goes to the C library's function and not straight to the kernel. A thread
// that waits in read() can be cancelled there (pthread_cancel()), and fcntl(), select() and lockf() are
// more than a system call.
//
// REAL-1  The function is looked up before main(), and at the first call if that is earlier. While the
//         loader looks it up, and where there is nothing to find, get() is null and the caller makes the
//         system call itself. Hooks that are linked statically have the linker find it: it is never null.
#pragma once

#include "base/atomic.hpp"
#include "hooks/function_name.hpp"
#ifdef WEFT_HOOKS_STATIC
#include "hooks/linked/real.hpp"
#endif

namespace weft::hooks {

/// dlsym() for what lies behind this library. Where there are functions of this name of several versions, it
/// is that of `version`; empty: the newest. \returns null if there is no such function, or if the calling
/// thread is in a look-up already.
void* look_up(const char* name, const char* version) noexcept;

/// How the linker knows the hook of this name.
#ifdef WEFT_HOOKS_STATIC
#define WEFT_ENTRY_NAME(name) "__wrap_" name
#else
#define WEFT_ENTRY_NAME(name) name

/// \tparam F  the type of the function.
template <function_name Name, class F, function_name Version = "">
class real_function {
public:
    /// \returns  null: REAL-1.
    static F* get() noexcept {
        static_cast<void>(&is_looked_up_early);  // makes it exist
        // relaxed: the function was there before its address
        void* const f = found.load(detail::relaxed);
        if (!f) [[unlikely]]
            return as_function(look_up_and_keep());
        return as_function(f);
    }

private:
    static F* as_function(void* f) noexcept { return f == &absent ? nullptr : reinterpret_cast<F*>(f); }

    [[gnu::noinline, gnu::cold]] static void* look_up_and_keep() noexcept {
        void* const f = look_up(Name.text, Version.text);
        if (f) found.store(f, detail::relaxed);  // by any thread the same
        return f ? f : &absent;
    }

    static bool look_up_early() noexcept {
        if (look_up_and_keep() == &absent) found.store(&absent, detail::relaxed);  // before main() nobody is in a look-up
        return true;
    }

    static inline constinit detail::atomic<void*> found{nullptr};
    static inline constinit char absent = 0;
    static inline const bool is_looked_up_early = look_up_early();
};

#endif

}  // namespace weft::hooks

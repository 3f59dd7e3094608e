// entry.hpp - how each hooked function begins and ends.
//
// ENTRY-1  An entry is called from code that knows nothing of weft, at any time: before main(), by the
//          loader, in a signal handler, by a thread that is about to be cancelled. If it is no fiber's call
//          it reads one word, and is the C library's function.
// ENTRY-2  errno is written in one place, behind the last park of a call, and only by calls that fail.
//
// A fiber's call is no cancellation point, since no thread but the carrier could be cancelled there.
#pragma once

#include <sys/syscall.h>

#include <cerrno>
#include <concepts>
#include <type_traits>

#include "base/system_call.hpp"
#include "hooks/fiber_call.hpp"
#include "hooks/real.hpp"
#include "hooks/table.hpp"

namespace weft::hooks {

/// The place of the call. Only in the entry itself.
#define WEFT_CALLER __builtin_return_address(0)

/// An argument as the kernel takes it.
template <class T>
long system_word(T value) noexcept {
    if constexpr (std::is_pointer_v<T>)
        return reinterpret_cast<long>(value);
    else if constexpr (std::is_null_pointer_v<T>)
        return 0;
    else
        return static_cast<long>(value);
}

/// A system call with up to six arguments. \returns the result, or the negated error.
template <class A = int, class B = int, class C = int, class D = int, class E = int, class F = int>
long direct(long number, A a = {}, B b = {}, C c = {}, D d = {}, E e = {}, F f = {}) noexcept {
    return detail::system_call(number, system_word(a), system_word(b), system_word(c), system_word(d), system_word(e),
                               system_word(f));
}

/// The kernel's result as a function of the C library gives it (ENTRY-2).
[[gnu::noinline]] long give(long result) noexcept;

/// The C library's function, or `otherwise()` where it cannot be found (REAL-1). It may be cancelled.
template <function_name Name, class F, function_name Version = "", class Otherwise, class... Arguments>
[[gnu::always_inline]] inline auto call_real_or(Otherwise otherwise, Arguments... arguments) {
    F* const f = real_function<Name, F, Version>::get();
    if (!f) [[unlikely]]
        return static_cast<std::invoke_result_t<F*, Arguments...>>(otherwise());
    return f(arguments...);
}

/// As call_real_or(), for a function that returns an error, and for which there is nothing else.
template <function_name Name, function_name Version = "", class... Arguments>
[[gnu::always_inline]] inline int call_real_only(Arguments... arguments) {
    return call_real_or<Name, int(Arguments...), Version>([] { return ENOSYS; }, arguments...);
}

/// As call_real_or(), for what is this system call.
template <function_name Name, class F, long Number, class... Arguments>
[[gnu::always_inline]] inline auto call_real(Arguments... arguments) {
    return call_real_or<Name, F>([&] { return give(direct(Number, arguments...)); }, arguments...);
}

template <class InFiber>
[[gnu::noinline]] auto run_in_fiber(const hook_table& t, const char* name, const void* caller, int descriptor,
                                    const InFiber& in_fiber) {
    fiber_call call(t, name, caller, descriptor);
    return in_fiber(call);
}

/// What every entry does. \param in_fiber  takes the fiber_call, and returns as the entry does.
template <class InFiber, class Plain>
[[gnu::always_inline]] inline auto enter(const char* name, const void* caller, int descriptor, const InFiber& in_fiber,
                                         const Plain& plain) {
    const hook_table* const t = table_for(caller);
    if (t) [[unlikely]]
        return run_in_fiber(*t, name, caller, descriptor, in_fiber);
    return plain();
}

}  // namespace weft::hooks

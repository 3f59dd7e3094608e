// system_function.hpp - the function of the system that one of this library hides.
//
// It is found at its first use, by the name: behind this library another one may stand before the system.
//
// Invariants
//   SYSTEM_FUNCTION-1  It may be called at any time, also before constructors have run and by the loader:
//                      its initial state is constant, and what several threads find is the same.
#pragma once

#include "base/atomic.hpp"

namespace weft::hooks {

/// \param version  of the system's symbol, for a name that has several; null: the newest.
/// Stops the program if there is none: who calls it has found this library's in its place.
[[gnu::cold]] void* find_system_function(const char* name, const char* version) noexcept;

template <class F>
class system_function;

template <class... A>
class system_function<int(A...)> {
public:
    constexpr explicit system_function(const char* name, const char* version = nullptr) noexcept
        : name_(name), version_(version) {}
    system_function(const system_function&) = delete;
    system_function& operator=(const system_function&) = delete;

    /// May throw: some of these functions are cancellation points of plain threads, which unwind through this library.
    [[gnu::always_inline]] int operator()(A... arguments) {
        auto* f = found_.load(detail::relaxed);  // it leads to code only (SYSTEM_FUNCTION-1)
        if (!f) [[unlikely]]
            f = find();
        return f(arguments...);
    }

private:
    using function = int(A...);

    [[gnu::noinline, gnu::cold]] function* find() noexcept {
        auto* const f = reinterpret_cast<function*>(find_system_function(name_, version_));
        found_.store(f, detail::relaxed);
        return f;
    }

    const char* const name_;
    const char* const version_;
    detail::atomic<function*> found_{nullptr};
};

}  // namespace weft::hooks

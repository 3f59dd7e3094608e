// opaque.hpp - room inside a public object for state that only the compiled core knows.
//
// The room begins as zeros. A State whose initial value is all zero bytes therefore exists without
// a constructor call. So the public object is constant-initialized and can be used before any
// constructor of a static object has run.
//
// Rules
//   OPAQUE-1  A State is an aggregate with a trivial destructor: an implicit-lifetime class, whose
//             object begins and ends its life with the array of std::byte that holds it
//             ([intro.object], [basic.types]).
//   OPAQUE-2  It consists of integers, pointers, and words and lists made of these alone; zero
//             bytes are their initial value. Words are lock-free and as large as what they hold.
//   OPAQUE-3  It is reached by as() only: the address is that of the bytes, laundered.
//
// Strictly, OPAQUE-1 does not hold for members with a constructor, which std::atomic has since
// C++20. That zero bytes are the value their constructor would give is OPAQUE-2. weft asserts and
// tests OPAQUE-2 (tests/sync/constant_initialization_test.cpp), and every compiler weft is built
// with keeps it. Rejected: a constructor that makes the State. It would have to know the State and
// so be compiled, and a static mutex would not be constant-initialized.
#pragma once

#include <weft/detail/requirements.hpp>

#include <cstddef>
#include <new>
#include <type_traits>

namespace weft::detail {

template <std::size_t Bytes>
class opaque {
public:
    constexpr opaque() noexcept = default;
    /// For a State whose initial value is not all zeros.
    template <class State>
    State& emplace() noexcept {
        static_assert(sizeof(State) <= Bytes && alignof(State) <= alignof(void*), "the public object is too small");
        return *::new (static_cast<void*>(bytes_)) State();
    }
    template <class State>
    State& as() noexcept {
        static_assert(sizeof(State) <= Bytes && alignof(State) <= alignof(void*), "the public object is too small");
        static_assert(std::is_aggregate_v<State> && std::is_trivially_destructible_v<State>, "OPAQUE-1");
        static_assert(std::is_standard_layout_v<State>, "OPAQUE-3");
        return *std::launder(reinterpret_cast<State*>(bytes_));
    }

private:
    alignas(void*) std::byte bytes_[Bytes]{};
};

}  // namespace weft::detail

// opaque.hpp - room inside a public object for state that only the compiled core knows.
//
// It begins as zeros, and a State that is at rest as zeros is there without a constructor: so its object is constant-initialized, and used
// before any constructor of a static object has run.
//
// Rules
//   O1  A State is an aggregate with a trivial destructor: an implicit-lifetime class, whose object begins with the array of std::byte in
//       which it is used, and ends with it ([intro.object], [basic.types]).
//   O2  It consists of integers, pointers, and words and lists made of these alone, of which zero bytes are the initial value. Words are
//       lock-free and as large as what they hold.
//   O3  It is reached by as() only: the address is that of the bytes, laundered.
//
// By the letter O1 stops at members with a constructor, as std::atomic has since C++20: that their zero bytes are the value their
// constructor would give is O2, which weft asserts and tests (tests/sync/constant_initialization_test.cpp) and every compiler it is built with keeps.
// Not taken: a constructor that makes the State. It would know the State, so be compiled, and a static mutex would not be constant-initialized.
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
    /// For a State that does not begin as zeros.
    template <class State>
    State& emplace() noexcept {
        static_assert(sizeof(State) <= Bytes && alignof(State) <= alignof(void*), "the public object is too small");
        return *::new (static_cast<void*>(bytes_)) State();
    }
    template <class State>
    State& as() noexcept {
        static_assert(sizeof(State) <= Bytes && alignof(State) <= alignof(void*), "the public object is too small");
        static_assert(std::is_aggregate_v<State> && std::is_trivially_destructible_v<State>, "O1");
        static_assert(std::is_standard_layout_v<State>, "O3");
        return *std::launder(reinterpret_cast<State*>(bytes_));
    }

private:
    alignas(void*) std::byte bytes_[Bytes]{};
};

}  // namespace weft::detail

// opaque.hpp - room inside a public object for state that only the compiled core knows.
//
// It begins as zeros, and a State that is at rest as zeros is there without a constructor: so its object is constant-initialized, and used
// before any constructor of a static object has run. States consist of lock-free words, pointers and lists of pointers, whose bytes
// are their value, and need no destructor; the room is an array of std::byte, which may be accessed as what lies in it.
#pragma once

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
        static_assert(std::is_standard_layout_v<State> && std::is_trivially_destructible_v<State>);
        return *std::launder(reinterpret_cast<State*>(bytes_));
    }

private:
    alignas(void*) std::byte bytes_[Bytes]{};
};

}  // namespace weft::detail

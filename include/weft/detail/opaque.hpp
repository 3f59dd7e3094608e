// opaque.hpp - room inside a public object for state that only the compiled core knows.
#pragma once

#include <cstddef>
#include <new>

namespace weft::detail {

/// It begins as zeros. A State that is at rest as zeros needs no emplace(): so its object can be constant-initialized, and be used before
/// any constructor of a static object has run.
template <std::size_t Bytes>
class opaque {
public:
    constexpr opaque() noexcept = default;
    template <class State>
    State& emplace() noexcept {
        static_assert(sizeof(State) <= Bytes && alignof(State) <= alignof(void*), "the public object is too small");
        return *::new (static_cast<void*>(bytes_)) State();
    }
    template <class State>
    State& as() noexcept {
        return *std::launder(reinterpret_cast<State*>(bytes_));
    }

private:
    alignas(void*) std::byte bytes_[Bytes]{};
};

}  // namespace weft::detail

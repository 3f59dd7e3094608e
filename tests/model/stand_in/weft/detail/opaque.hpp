// opaque.hpp - weft/detail/opaque.hpp in the model build: larger, since modelled words are, and its state ends with it, so that who
// touches a primitive after its end is found.
#pragma once

#include <cstddef>
#include <new>

namespace weft::detail {

template <std::size_t Bytes>
class opaque {
public:
    constexpr opaque() noexcept = default;
    constexpr ~opaque() {
        if (end_) end_(bytes_);
    }
    opaque(const opaque&) = delete;
    opaque& operator=(const opaque&) = delete;

    template <class State>
    State& as() noexcept {
        static_assert(sizeof(State) <= sizeof bytes_);
        end_ = [](void* state) { static_cast<State*>(state)->~State(); };
        return *std::launder(reinterpret_cast<State*>(bytes_));
    }

private:
    void (*end_)(void*) = nullptr;
    alignas(16) std::byte bytes_[8 * Bytes]{};
};

}  // namespace weft::detail

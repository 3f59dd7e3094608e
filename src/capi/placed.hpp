// placed.hpp - objects of weft in opaque structs of the program.
#pragma once

#include <new>

namespace weft::capi {

/// The T that lies in a struct of the program.
template <class T, class Opaque>
T& placed_in(Opaque* room) noexcept {
    static_assert(sizeof(T) <= sizeof(Opaque) && alignof(T) <= alignof(Opaque));
    return *std::launder(reinterpret_cast<T*>(room));
}

}  // namespace weft::capi

// inner.hpp - no public header.
#pragma once

#include <weft/detail/requirements.hpp>

namespace weft {

class known;

enum class hidden { yes, no };  // BAD: a public type

template <class T>  // BAD: another
struct hidden_too {
    friend class known;
    struct part {};
};

template <class T>
void no_type(T t) {
    struct local {};
}

namespace detail {
struct own {};
}  // namespace detail
}  // namespace weft

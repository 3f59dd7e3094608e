// function_name.hpp - the name of a function, as an argument of a template.
#pragma once

#include <algorithm>
#include <cstddef>

namespace weft::hooks {

template <std::size_t Size>
struct function_name {
    consteval explicit(false) function_name(const char (&s)[Size]) { std::copy_n(s, Size, text); }
    char text[Size] = {};
};

}  // namespace weft::hooks

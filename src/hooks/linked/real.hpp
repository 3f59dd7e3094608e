// real.hpp - the C library's own functions, for hooks that are linked statically: the linker finds them.
//
// Nothing is looked up while the program runs, and get() is never null.
#pragma once

#include <string_view>

#include "hooks/function_name.hpp"

namespace weft::hooks {

using any_function = void();

// The linker takes __real_read for the C library's read (--wrap).
extern "C" {
#define WEFT_HOOKED(name) any_function real_of_##name asm("__real_" #name);
#define WEFT_CALLED(name) any_function real_of_##name asm(#name);
#include "hooks/linked/names.def"
#undef WEFT_CALLED
#undef WEFT_HOOKED
}

/// Does not compile for a name that names.def has not.
consteval any_function* real_by_name(std::string_view wanted) {
    struct named {
        std::string_view name;
        any_function* function;
    };
    const named all[] = {
#define WEFT_HOOKED(name) {#name, &real_of_##name},
#define WEFT_CALLED WEFT_HOOKED
#include "hooks/linked/names.def"
#undef WEFT_CALLED
#undef WEFT_HOOKED
    };
    for (const auto& each : all)
        if (each.name == wanted) return each.function;
    throw "names.def has no such name";
}

/// As the class of this name in src/hooks/real.hpp.
template <function_name Name, class F, function_name Version = "">
struct real_function {
    static F* get() noexcept { return reinterpret_cast<F*>(real_by_name(Name.text)); }
};

}  // namespace weft::hooks

#include "hooks/system_function.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace weft::hooks {

void* find_system_function(const char* name, const char* version) noexcept {
    if (version)
        if (void* const f = ::dlvsym(RTLD_NEXT, name, version)) return f;
    if (void* const f = ::dlsym(RTLD_NEXT, name)) return f;
    std::fprintf(stderr, "weft: the C library has no %s() (hooks)\n", name);
    std::abort();
}

}  // namespace weft::hooks

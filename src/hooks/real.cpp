#include "hooks/real.hpp"

#include <dlfcn.h>

namespace weft::hooks {
namespace {

// The loader may allocate, and an allocator of somebody else's may call a hooked function. It is read before
// the thread has anything but its first block of thread_local objects.
[[gnu::tls_model("initial-exec")]] thread_local constinit bool is_looking = false;

}  // namespace

// The loader takes the object file that it searches behind from the return address of dlsym(), so the call
// must not be the last thing that this function does.
[[gnu::noinline]] void* look_up(const char* name, const char* version) noexcept {
    if (is_looking) return nullptr;
    is_looking = true;
    void* found = *version ? ::dlvsym(RTLD_NEXT, name, version) : nullptr;
    if (!found) found = ::dlsym(RTLD_NEXT, name);
    is_looking = false;
    return found;
}

}  // namespace weft::hooks

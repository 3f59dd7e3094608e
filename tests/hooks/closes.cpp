// closes.cpp - a program that closes a library which has weft inside, and says whether that is still there:
// closes LIBRARY.
#include <dlfcn.h>

#include <cstdio>

int main(int, char** argv) {
    void* const library = ::dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        std::fprintf(stderr, "%s\n", ::dlerror());
        return 1;
    }
    const auto work = reinterpret_cast<int (*)()>(::dlsym(library, "weft_plugin_work"));
    if (!work || work() != 5050 || ::dlclose(library) != 0) return 1;
    std::puts(::dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD) ? "is there" : "is gone");
}

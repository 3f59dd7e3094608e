// allocations.cpp - counts: a sanitizer tells of each allocation; otherwise this program's malloc() and its kin go to glibc's by way of a counter.
#include "allocations/support/allocations.hpp"

#include <atomic>
#include <cerrno>
#include <cstddef>

#include "arch/sanitizer.hpp"

namespace weft::test {
namespace {

constinit std::atomic<std::uint64_t> count{0};  // relaxed: whoever asks about others' has waited for them

[[maybe_unused]] void note() noexcept { count.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

std::uint64_t allocations() noexcept { return count.load(std::memory_order_relaxed); }

}  // namespace weft::test

#if WEFT_UNDER_ASAN || WEFT_UNDER_TSAN

// Of sanitizer/allocator_interface.h, which g++ does not install.
// NOLINTNEXTLINE(bugprone-reserved-identifier): the sanitizer's name
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void*, std::size_t), void (*)(const volatile void*));

namespace weft::test {
namespace {

[[maybe_unused]] const int installed =
    __sanitizer_install_malloc_and_free_hooks([](const volatile void*, std::size_t) { note(); }, [](const volatile void*) {});

}  // namespace
}  // namespace weft::test

#else

// NOLINTBEGIN(bugprone-reserved-identifier): glibc's names
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t bytes) {
    weft::test::note();
    return __libc_malloc(bytes);
}
void* calloc(std::size_t n, std::size_t each) {
    weft::test::note();
    return __libc_calloc(n, each);
}
void* realloc(void* old, std::size_t bytes) {
    weft::test::note();
    return __libc_realloc(old, bytes);
}
void* memalign(std::size_t alignment, std::size_t bytes) {
    weft::test::note();
    return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void** to, std::size_t alignment, std::size_t bytes) {
    void* const got = memalign(alignment, bytes);
    if (!got) return ENOMEM;
    *to = got;
    return 0;
}
}
// NOLINTEND(bugprone-reserved-identifier)

#endif

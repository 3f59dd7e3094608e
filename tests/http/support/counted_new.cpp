// counted_new.cpp - operators new and delete that keep the size in front of what they lend.
#include "http/support/counted_new.hpp"

#include <cstdlib>
#include <new>

#include "arch/sanitizer.hpp"

#if WEFT_UNDER_ASAN || WEFT_UNDER_TSAN

std::ptrdiff_t weft::test::new_bytes() noexcept { return 0; }

#else

namespace weft::test {
namespace {

constexpr std::size_t front = alignof(std::max_align_t);
static_assert(front >= sizeof(std::size_t));

constinit thread_local std::ptrdiff_t bytes = 0;

void* lend(std::size_t n) {
    auto* const at = static_cast<std::byte*>(std::malloc(n + front));
    if (!at) throw std::bad_alloc();
    *::new (static_cast<void*>(at)) std::size_t = n;
    bytes += static_cast<std::ptrdiff_t>(n);
    return at + front;
}

void take_back(void* p) noexcept {
    if (!p) return;
    auto* const at = static_cast<std::byte*>(p) - front;
    bytes -= static_cast<std::ptrdiff_t>(*std::launder(reinterpret_cast<std::size_t*>(at)));
    std::free(at);
}

}  // namespace

std::ptrdiff_t new_bytes() noexcept { return bytes; }

}  // namespace weft::test

void* operator new(std::size_t n) { return weft::test::lend(n); }
void* operator new[](std::size_t n) { return weft::test::lend(n); }
void operator delete(void* p) noexcept { weft::test::take_back(p); }
void operator delete[](void* p) noexcept { weft::test::take_back(p); }
void operator delete(void* p, std::size_t) noexcept { weft::test::take_back(p); }
void operator delete[](void* p, std::size_t) noexcept { weft::test::take_back(p); }

#endif

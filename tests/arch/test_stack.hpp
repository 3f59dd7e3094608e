// test_stack.hpp - plain memory as a stack, for tests of the layer that knows no pools.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "arch/context.hpp"
#include "arch/valgrind.hpp"

namespace weft::detail {

class test_stack {
public:
    test_stack()
        : memory_(new(std::align_val_t{4096}) std::byte[bytes]),
          valgrind_id_(valgrind_learns({.low = memory_, .high = memory_ + bytes})) {}
    ~test_stack() {
        valgrind_forgets(valgrind_id_);
#if WEFT_UNDER_TSAN
        if (tsan_fiber_ != nullptr) __tsan_destroy_fiber(tsan_fiber_);
#endif
        ::operator delete[](memory_, std::align_val_t{4096});
    }
    test_stack(test_stack const&) = delete;
    test_stack& operator=(test_stack const&) = delete;

    void make(context& c, context_entry entry, void* argument, std::size_t below_top = 0) {
        stack_span s{.low = memory_, .high = memory_ + bytes};
#if WEFT_UNDER_TSAN
        s.tsan_fiber = &tsan_fiber_;
#endif
        make_context(c, s, s.high - below_top, entry, argument);
    }

    [[nodiscard]] bool contains(void const* p) const { return p >= memory_ && p < memory_ + bytes; }

private:
    static constexpr std::size_t bytes = std::size_t{128} << 10;
    std::byte* memory_;
    std::uint32_t valgrind_id_;
#if WEFT_UNDER_TSAN
    void* tsan_fiber_ = nullptr;
#endif
};

/// Two ends of a rope: `main` is where the test goes on, `other` the made stack.
struct rope {
    context main;
    context other;
    test_stack stack;
    int visits = 0;

    void make(context_entry entry) { stack.make(other, entry, this); }
    void to_other() { switch_context(main, other); }
    void to_main() { switch_context(other, main); }
};

}  // namespace weft::detail

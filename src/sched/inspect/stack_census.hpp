// stack_census.hpp - how much of their stacks fibers needed, by the place where they were spawned.
//
// It is kept where a runtime asks for it. Each fiber of such a runtime has a stack of its own,
// which is scrubbed before the fiber starts (stack/high_water.hpp) and measured when its body has
// ended, still on that stack. It costs some microseconds per fiber, and nothing where no runtime
// asks for it.
#pragma once

#include <weft/detail/annotated_locks.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <source_location>
#include <string_view>
#include <tuple>
#include <typeinfo>
#include <vector>

#include "base/futex_lock.hpp"

namespace weft::detail {

struct control_block;
struct stack;

class stack_census {
public:
    struct entry {
        std::source_location site;
        const std::type_info* body = nullptr;
        std::uint64_t fibers = 0;
        std::size_t most = 0, sum = 0;  // bytes
        std::size_t stack_bytes = 0;  // stack size of the fiber that needed most
    };

    /// Scrubs the stack on which a new fiber is about to start. Called on another stack.
    static void begin(stack& home) noexcept;
    /// Measures a fiber whose body has ended; called on its stack. False: no memory to record it.
    bool end(const control_block& f) noexcept;

    /// \returns all entries; the places that needed most come first.
    std::vector<entry> entries() const;

private:
    // Place and body. The body is needed too, since a function that spawns for others is one place
    // for all of them.
    using key = std::tuple<std::string_view, std::uint_least32_t, std::uint_least32_t, std::size_t>;

    mutable futex_lock lock_;
    std::map<key, entry> all_ WEFT_GUARDED_BY(lock_);
};

}  // namespace weft::detail

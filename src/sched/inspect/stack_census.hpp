// stack_census.hpp - how much of their stacks fibers needed, by the place where they were spawned; kept where a runtime asks for it.
//
// Each fiber of such a runtime has a stack of its own, scrubbed before it starts (stack/high_water.hpp), and is measured when its body has
// ended, still on that stack. It costs some microseconds a fiber, nothing where no runtime asks for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <source_location>
#include <string_view>
#include <tuple>
#include <typeinfo>
#include <vector>

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
        std::size_t stack_bytes = 0;  // of the one that needed most
    };

    /// A new fiber is about to start on `home`; not on that stack.
    static void begin(stack& home) noexcept;
    /// On that stack; false: no memory to keep it in.
    bool end(const control_block& f) noexcept;

    /// Those that needed most come first.
    std::vector<entry> entries() const;

private:
    // Those of one place are told apart by what they run: a function that spawns for others is one place for all.
    using key = std::tuple<std::string_view, std::uint_least32_t, std::uint_least32_t, std::size_t>;

    mutable std::mutex lock_;
    std::map<key, entry> all_;
};

}  // namespace weft::detail

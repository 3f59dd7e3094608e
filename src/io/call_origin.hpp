// call_origin.hpp - who has made a call that occupies a thread of a blocking pool, as a message names it.
#pragma once

#include <array>
#include <cstdint>
#include <source_location>
#include <string>
#include <vector>

namespace weft::detail {

/// A copy: the fiber may be gone when it is read.
struct call_origin {
    std::array<char, 32> name{};  // cut, ends with a zero
    std::source_location site{};  // line 0: not known

    friend bool operator==(const call_origin& a, const call_origin& b) noexcept {
        return a.name == b.name && a.site.line() == b.site.line() && a.site.file_name() == b.site.file_name();
    }
};

/// The calling fiber; nothing on a plain thread.
call_origin origin_of_caller() noexcept;

/// `fiber "a" (a.cpp:7) 12 times, fiber "b" (b.cpp:3)`: those that come up most first, and no more than five.
std::string listed(std::vector<call_origin> all);

}  // namespace weft::detail

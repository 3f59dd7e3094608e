// call_origin.hpp - which fiber made a call that occupies a thread of a blocking pool.
#pragma once

#include <array>
#include <cstdint>
#include <source_location>
#include <string>
#include <vector>

namespace weft::detail {

/// The origin of a call, as messages name it. It is a copy, since the fiber may be gone when it is
/// read.
struct call_origin {
    std::array<char, 32> name{};  // truncated, ends with a zero
    std::source_location site{};  // line 0: unknown

    friend bool operator==(const call_origin& a, const call_origin& b) noexcept {
        return a.name == b.name && a.site.line() == b.site.line() && a.site.file_name() == b.site.file_name();
    }
};

/// Describes the calling fiber; empty on a plain thread.
call_origin origin_of_caller() noexcept;

/// Lists origins, the most frequent first and at most five:
/// `fiber "a" (a.cpp:7) 12 times, fiber "b" (b.cpp:3)`.
std::string listed(std::vector<call_origin> all);

}  // namespace weft::detail

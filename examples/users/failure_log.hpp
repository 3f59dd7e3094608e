// failure_log.hpp - failures on stderr, one line a second at most: a database that is down fails every request.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string_view>

namespace users {

class failure_log {
public:
    /// `where: reason`, with how many were left out since the last line.
    void report(std::string_view where, std::string_view reason);

private:
    std::mutex lock_;  // never held across a wait
    std::chrono::steady_clock::time_point next_{};
    std::uint64_t left_out_ = 0;
};

}  // namespace users

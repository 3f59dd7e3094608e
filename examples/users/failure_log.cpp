// failure_log.cpp - lets one failure a second through.
#include "failure_log.hpp"

#include <cstdio>
#include <string>
#include <utility>

#include <weft/http/log.hpp>

namespace users {

void failure_log::report(std::string_view where, std::string_view reason) {
    std::uint64_t left_out = 0;
    {
        const std::lock_guard guard(lock_);
        const auto now = std::chrono::steady_clock::now();
        if (now < next_) {
            ++left_out_;
            return;
        }
        next_ = now + std::chrono::seconds(1);
        left_out = std::exchange(left_out_, 0);
    }
    std::string line("users: ");
    line.append(weft::http::printable(where)).append(": ").append(weft::http::printable(reason));
    if (left_out != 0) line += " (and " + std::to_string(left_out) + " more)";
    line += '\n';
    std::fputs(line.c_str(), stderr);
}

}  // namespace users

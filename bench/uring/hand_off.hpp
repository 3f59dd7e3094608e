// hand_off.hpp - the second experiment: a thread arms a receive and does not come back, as a thread
// does not whose worker was handed to another one. When does that other thread learn of a message?
#pragma once

#include <array>
#include <string>
#include <vector>

#include "ring.hpp"
#include "system.hpp"

namespace bench::uring {

/// What keeps the thread that has armed the receive.
enum class occupation : std::uint8_t { computes, reads_pipe, waits_in_epoll, sleeps };
inline constexpr std::array occupations{occupation::computes, occupation::reads_pipe, occupation::waits_in_epoll,
                                        occupation::sleeps};

const char* name(occupation) noexcept;

constexpr unsigned messages = 20;
constexpr std::chrono::milliseconds patience{100};  // with each message

struct hand_off_row {
    std::string way;  ///< epoll, or the mode of the ring
    occupation of_owner{};
    std::vector<double> latency_us{};  ///< of the messages that the other thread has seen in time
    unsigned cut_short = 0;          ///< calls of the first thread that ended by EINTR
    std::string refusal{};  ///< of the kernel, when the other thread asks for completions; or empty
};

/// \returns  a row for epoll and each occupation, then for each mode and each occupation.
std::vector<hand_off_row> hand_offs(std::span<const ring_mode>, cpu_pair);

}  // namespace bench::uring

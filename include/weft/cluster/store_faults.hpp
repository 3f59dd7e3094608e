// store_faults.hpp - what happens to the calls of hosts to a simulated store.
#pragma once

#include <weft/detail/requirements.hpp>

#include <chrono>
#include <cstdint>

namespace weft::cluster {

/// What happens to calls. Random numbers come from weft::draw() and times from the runtime's clock.
struct store_faults {
    std::chrono::nanoseconds least_delay = {};  ///< of each way of a call
    std::chrono::nanoseconds most_delay = {};
    std::uint32_t fail_one_in = 0;       ///< a call fails and is not done; 0: none
    std::uint32_t lose_answer_one_in = 0;  ///< a call is done, and fails
};

}  // namespace weft::cluster

// plan.hpp - how long a soak lasts, and how often what happens in it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>

#include "support/scale.hpp"

namespace soak {

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

struct plan {
    std::string server;                   ///< the program
    std::chrono::seconds length{20};
    std::uint64_t seed = 1;
    std::string fault = "none";           ///< planted in the server; several with commas between them
    bool until_found = false;             ///< ends as soon as an answer was wrong and a line was not to be expected
    std::uint64_t every = 1000;           ///< operations between two such faults

    /// In a soak of some minutes everything takes its own time; in a short one more often, so that it happens at all.
    bool is_short() const noexcept { return length < std::chrono::minutes(3); }
    milliseconds between_quiet_points() const noexcept {
        return is_short() ? std::max<milliseconds>(length / 10, milliseconds(500))
                          : std::min<milliseconds>(length / 24, milliseconds(30'000));
    }
    /// Until hogs have ended, and threads without work.
    milliseconds settling() const noexcept { return milliseconds(is_short() ? 700 : 2500); }
    /// At least; at most thrice as long.
    milliseconds redis_life() const noexcept { return is_short() ? milliseconds(300) : between_quiet_points() / 3; }
    milliseconds redis_trouble() const noexcept { return milliseconds(is_short() ? 500 : 3000); }  ///< at most
    milliseconds flood_gap() const noexcept { return milliseconds(is_short() ? 1000 : 8000); }     ///< at most
    milliseconds flood_stay() const noexcept { return milliseconds(is_short() ? 500 : 4000); }     ///< at most
    milliseconds byte_gap() const noexcept { return milliseconds(is_short() ? 5 : 100); }
    /// A server with a fault that keeps it from ending has shown it by then.
    milliseconds patience_at_end() const noexcept { return milliseconds(fault == "none" ? 30'000 : 8000); }
    milliseconds report_gap() const noexcept { return milliseconds(5000); }

    /// The server's limits.
    static constexpr milliseconds idle_limit{5000};
    /// A short soak has no quiet points a second apart in which a connection could go cold.
    milliseconds cold_after() const noexcept { return milliseconds(is_short() ? 200 : 1000); }
    /// A limit of a second or more may be late by as much.
    milliseconds surely_cold() const noexcept { return milliseconds(is_short() ? 400 : 2100); }
    milliseconds header_limit() const noexcept { return milliseconds(is_short() ? 2000 : 8000); }
    milliseconds write_limit() const noexcept { return milliseconds(is_short() ? 1000 : 3000); }

    // chosen: what two CPUs have room for besides the hogs
    unsigned clients = 16;          ///< correct ones, for each of the two services
    unsigned users_each = 20;
    unsigned slow_clients = 10;     ///< of each kind
    unsigned idlers = 4;            ///< for each of the two services
    unsigned lines_of_idler = 10;
    unsigned flood = static_cast<unsigned>(weft::test::scaled(2400, 2));  ///< connections; the server may have 1200 descriptors
    milliseconds patience{weft::test::sanitized ? 120'000 : 60'000};  ///< for any answer at all
    /// After the last fault of Redis or the last flood: clients of Redis try again after two seconds at most.
    milliseconds aftermath{weft::test::sanitized ? 15'000 : 5000};
};

}  // namespace soak

// expected_line.hpp - which lines the soak's server may print, since what is done to it must lead to them.
#pragma once

#include <string>

namespace soak {

enum class line_kind {
    hog,      ///< a fiber called "soak hog" keeps its thread
    lock,     ///< a connection waits in SQLite, which it calls on the spot: for the disk, or for a lock of the library
    slow,     ///< a connection computes for as long as a hog: to be expected of an instrumented build only
    accept,   ///< out of descriptors
    unread,   ///< a client that never reads was cut off
    failure,  ///< a request has failed, for the reason behind it
    other     ///< not to be expected
};

struct read_line {
    line_kind kind;
    std::string reason;  ///< of a failure
};

read_line read(const std::string& line);

}  // namespace soak

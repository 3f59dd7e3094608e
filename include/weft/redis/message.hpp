// message.hpp - what a subscriber of a Redis server receives.
#pragma once

#include <string>

#include <weft/detail/requirements.hpp>

namespace weft::redis {

/// A message that somebody has published; client::subscribe() returns the receiver of them.
struct message {
    std::string channel;
    std::string pattern;  ///< what client::psubscribe() was given; empty with subscribe()
    std::string payload;

    friend bool operator==(const message&, const message&) = default;
};

}  // namespace weft::redis

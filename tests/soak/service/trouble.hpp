// trouble.hpp - when the service may fail requests for users in Redis: while Redis is away, or descriptors are, and a little longer.
//
// Which failures those are: status 500, and the reason that Redis cannot be reached, that the connection to it was lost, or that it is loading.
#pragma once

#include <chrono>
#include <mutex>
#include <string_view>

#include "soak/service/plan.hpp"

namespace soak {

class trouble {
public:
    explicit trouble(milliseconds aftermath) : aftermath_(aftermath) {}

    void begin() {
        const std::lock_guard guard(lock_);
        ++going_on_;
    }
    void end() {
        const std::lock_guard guard(lock_);
        --going_on_;
        last_end_ = clock::now();
    }
    /// Whether something sent at that time may fail now.
    bool excuses(clock::time_point sent) const {
        const std::lock_guard guard(lock_);
        return going_on_ > 0 || sent < last_end_ + aftermath_;
    }

    static bool is_about_redis(std::string_view reason) {
        if (reason.starts_with("LOADING ")) return true;
        if (!reason.starts_with("redis 127.0.0.1:")) return false;
        return reason.find(": cannot connect: ") != reason.npos || reason.find(": connection lost: ") != reason.npos;
    }

private:
    const milliseconds aftermath_;
    mutable std::mutex lock_;  // never held across a wait
    unsigned going_on_ = 0;
    clock::time_point last_end_{};
};

}  // namespace soak

// disturbance.hpp - what goes on beside the chaos: signals to any of its threads, dumps, and the end of the process in the middle.
#pragma once

#include <atomic>
#include <thread>

#include "attack/chaos/world.hpp"

namespace weft::attack {

/// Sends SIGUSR1 to the process's threads, one after the other; the handler wants some stack.
class signal_storm {
public:
    signal_storm();
    ~signal_storm();
    long taken() const noexcept;

private:
    std::atomic<bool> over_{false};
    std::thread sender_;
};

/// Dumps, looks for deadlocks and gives stacks back, over and over.
class observer {
public:
    explicit observer(runtime& of);
    ~observer();
    long dumps() const noexcept { return dumps_; }

private:
    std::atomic<bool> over_{false};
    std::atomic<long> dumps_{0};
    std::thread thread_;
};

inline constexpr int end_count = 9;
inline constexpr int end_code = 7;

/// Ends the process with `end_code` in the middle of what it does, in one of `end_count` ways, or ends it with another code if a child
/// that is forked there does not find things as it should.
void end_soon(runtime& rt, int way, std::chrono::microseconds in);
const char* name_of_end(int way);

}  // namespace weft::attack

// deadlocks.hpp - which of the fibers that are seen wait for ever, and who is told.
#pragma once

#include <weft/deadlock.hpp>

namespace weft::detail {

/// As find_deadlocks(), of what is there already.
std::vector<deadlock> deadlocks_among(const process_snapshot&, bool others_may_act);

/// A runtime has come to rest: tells on_deadlock, or stderr, of what is certain and has not been told before.
class deadlock_reporter {
public:
    explicit deadlock_reporter(const runtime_options& o) : options_(o) {}
    /// By what may be read without holding anybody, so that a program that only rests pays little.
    static bool may_find_any() noexcept;
    void look() noexcept;

private:
    const runtime_options& options_;
    time_point not_before_{};
    std::vector<std::vector<fiber_id>> told_;
};

}  // namespace weft::detail

// deadlocks.hpp - which fibers wait for ever, and how that is reported.
#pragma once

#include <weft/deadlock.hpp>

namespace weft::detail {

/// What find_deadlocks() finds, in a snapshot that was taken already.
std::vector<deadlock> deadlocks_among(const process_snapshot&, bool others_may_act);

/// Called when a runtime has come to rest: reports certain deadlocks, each once, to on_deadlock or
/// on stderr.
class deadlock_reporter {
public:
    explicit deadlock_reporter(const runtime_options& o) : options_(o) {}
    /// A cheap check that holds no fiber, so that a program that is only at rest pays little.
    static bool may_find_any() noexcept;
    void look() noexcept;

private:
    const runtime_options& options_;
    time_point not_before_{};
    std::vector<std::vector<fiber_id>> told_;
};

}  // namespace weft::detail

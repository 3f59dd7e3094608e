// runtime_core.hpp - the parts of one runtime, built and destroyed in order of dependency.
#pragma once

#include <weft/runtime.hpp>

#include <optional>
#include <span>

#include "io/blocking_pool.hpp"
#include "io/engine.hpp"
#include "io/files/file_engine.hpp"
#include "runtime/dump/all_runtimes.hpp"
#include "runtime/dump/deadlocks.hpp"
#include "runtime/dump/dump_service.hpp"
#include "sched/scheduler.hpp"
#include "stack/overflow.hpp"

namespace weft::detail {

/// Owns the signal for hog reports during its lifetime.
class stack_signal {
public:
    /// \throws std::invalid_argument naming the option, and what else uses the signal
    explicit stack_signal(const runtime_options&);
    ~stack_signal();
    stack_signal(const stack_signal&) = delete;
    stack_signal& operator=(const stack_signal&) = delete;

    int number() const noexcept { return number_; }

private:
    int number_;
};

class runtime_core {
public:
    runtime_core(runtime& facade, runtime_options options);
    ~runtime_core();

    scheduler& fibers() noexcept { return *scheduler_; }
    io_engine& engine() noexcept { return *engine_; }
    blocking_pools& pools() noexcept { return pools_; }
    file_engine& files() noexcept { return files_; }
    runtime& facade() noexcept { return facade_; }
    const runtime_options& options() const noexcept { return options_; }
    /// The destructor runs because a fiber of this runtime has called exit(), so no thread outside
    /// can wait for all its fibers.
    bool is_ended_by_own_exit() const noexcept;
    /// The runtime was made before a fork, so its threads are those of the parent.
    bool is_inherited() const noexcept { return scheduler_->is_inherited(); }

    bool shutdown(time_point until);
    /// \returns false if the runtime was simulated and has fibers left that cannot go on.
    bool ends_simulation();
    void name_stragglers() noexcept;
    void for_each_fiber(const std::function<void(const fiber_info&)>& f);

private:
    void print_census() noexcept;

    runtime& facade_;
    const runtime_options options_;
    overflow_report overflow_;
    const stack_signal stack_signal_;
    const std::unique_ptr<io_engine> engine_ = make_io_engine();
    blocking_pools pools_;
    file_engine files_;
    bool prints_census_ = false;
    deadlock_reporter deadlocks_{options_};
    // Its threads use the members above, so it is destroyed before them.
    std::unique_ptr<scheduler> scheduler_;
    std::optional<listed_runtime> listed_;
    std::optional<dump_service> dumps_;
};

fiber_info info_of(const control_block&) noexcept;

/// Describes a fiber that may be renamed meanwhile. `room` is for a copy of its name, and as large
/// as a fiber's name.
fiber_info info_of(control_block&, std::span<char> room) noexcept;

/// The value of an environment variable that overrides an option, if it is set.
/// \throws std::invalid_argument
std::optional<unsigned long> from_environment(const char* variable, unsigned long least, unsigned long most);

/// Reports a hog to on_hog, or on stderr.
void report_hog(const runtime_options&, const hog_sighting&) noexcept;

/// The core of the calling fiber's runtime, or null.
runtime_core* current_runtime() noexcept;

}  // namespace weft::detail

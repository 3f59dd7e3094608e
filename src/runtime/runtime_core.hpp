// runtime_core.hpp - the parts of one runtime, built and ended in the order in which they need each other.
#pragma once

#include <weft/runtime.hpp>

#include "io/blocking_pool.hpp"
#include "io/epoll_driver.hpp"
#include "sched/scheduler.hpp"
#include "stack/overflow.hpp"

namespace weft::detail {

class runtime_core {
public:
    runtime_core(runtime& facade, runtime_options options);
    ~runtime_core();

    scheduler& fibers() noexcept { return *scheduler_; }
    epoll_driver& driver() noexcept { return driver_; }
    blocking_pool& pool() noexcept { return pool_; }
    runtime& facade() noexcept { return facade_; }

    bool shutdown(time_point until);
    void name_stragglers() noexcept;
    void for_each_fiber(const std::function<void(const fiber_info&)>& f);

private:
    runtime& facade_;
    const runtime_options options_;
    overflow_report overflow_;
    epoll_driver driver_;
    blocking_pool pool_;
    std::unique_ptr<scheduler> scheduler_;  // first to end: its threads use the others
};

fiber_info info_of(const control_block&) noexcept;

/// The core of the calling fiber's runtime, or null.
runtime_core* current_runtime() noexcept;

}  // namespace weft::detail

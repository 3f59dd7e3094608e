#include "sched/current_place.hpp"

#include "sched/scheduler.hpp"

namespace weft::detail {

current_place find_current_place() noexcept {
    const auto* const here = current_scheduler();
    return {.worker = current_worker_index().value_or(0), .workers = here ? here->worker_count() : 0};
}

}  // namespace weft::detail

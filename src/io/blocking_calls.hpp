// blocking_calls.hpp - weft::blocking() on a chosen pool, for this layer and those above.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <type_traits>
#include <utility>

#include <weft/blocking.hpp>

#include "fiber/wait_kind.hpp"
#include "io/current.hpp"

namespace weft::detail {

/// How a call of run_blocking_to_its_end() has ended. withdrawn: it has not begun and never will, because
/// the caller was interrupted. refused: there was no thread.
enum class call_end : std::uint8_t { returned, returned_interrupted, withdrawn, refused };
/// What dumps show of the caller of run_blocking_to_its_end().
struct call_wait {
    const wait_kind& kind;
    const wait_kind& after_interrupt;  // while a call that has begun is waited for
    const void* object;
};
/// Runs the call on the pool, or in place on a plain thread, and waits for it. An interrupt of the caller
/// withdraws a call that has not begun; one that has begun is waited for, after `stop` was stopped.
/// \throws  std::system_error, std::bad_alloc  if the pool has no thread and can start none
call_end run_blocking_to_its_end(pool_for what, task& call, std::stop_source* stop = nullptr, const call_wait* shown = nullptr);

/// Do what run_blocking() and run_blocking_detached() do, on the given pool.
void run_blocking_in(pool_for what, task& call, std::stop_source* stop);
void run_blocking_detached_in(pool_for what, std::unique_ptr<task> call);

/// Does what weft::blocking() does, on the given pool.
template <class F>
auto blocking_in(pool_for what, F&& f) {
    borrowed_task<F&&, std::invoke_result_t<F>, false> call(f, {});
    run_blocking_in(what, call, nullptr);
    return call.take();
}

/// Does what weft::blocking_detached() does, on the given pool.
template <class F>
void blocking_detached_in(pool_for what, F&& f) {
    run_blocking_detached_in(what, std::make_unique<call_task<F>>(std::forward<F>(f)));
}

}  // namespace weft::detail

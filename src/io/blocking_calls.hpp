// blocking_calls.hpp - weft::blocking() on a chosen pool, for this layer and those above.
#pragma once

#include <memory>
#include <stop_token>
#include <type_traits>
#include <utility>

#include <weft/blocking.hpp>

#include "io/current.hpp"

namespace weft::detail {

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

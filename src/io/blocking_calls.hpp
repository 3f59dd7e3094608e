// blocking_calls.hpp - weft::blocking for this layer and those above: the same on a pool of the caller's choice.
#pragma once

#include <memory>
#include <stop_token>
#include <type_traits>
#include <utility>

#include <weft/blocking.hpp>

#include "io/current.hpp"

namespace weft::detail {

/// As run_blocking() and run_blocking_detached().
void run_blocking_in(pool_for what, task& call, std::stop_source* stop);
void run_blocking_detached_in(pool_for what, std::unique_ptr<task> call);

/// As weft::blocking().
template <class F>
auto blocking_in(pool_for what, F&& f) {
    borrowed_task<F&&, std::invoke_result_t<F>, false> call(f, {});
    run_blocking_in(what, call, nullptr);
    return call.take();
}

/// As weft::blocking_detached().
template <class F>
void blocking_detached_in(pool_for what, F&& f) {
    run_blocking_detached_in(what, std::make_unique<call_task<F>>(std::forward<F>(f)));
}

}  // namespace weft::detail

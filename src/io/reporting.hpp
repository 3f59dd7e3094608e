// reporting.hpp - makes the form with an error code of an operation that throws.
#pragma once

#include <system_error>
#include <type_traits>

#include <weft/detail/caught_error.hpp>

namespace weft::detail {

/// Calls f(). If that throws, sets `error` and returns an empty result.
template <class F, class Result = std::invoke_result_t<F>>
Result reporting(std::error_code& error, F&& f) {
    error.clear();
    try {
        return f();
    } catch (...) {
        error = caught_error();
    }
    return Result();
}

}  // namespace weft::detail

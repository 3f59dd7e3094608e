// failure.hpp - what a failure handed over by the caller has to be.
#pragma once

#include <exception>

namespace weft::detail {

/// Who hands over a null pointer breaks the contract of `taker`.
[[noreturn]] void panic_null_failure(const char* taker) noexcept;
inline void require_failure(const std::exception_ptr& e, const char* taker) noexcept {
    if (!e) [[unlikely]]
        panic_null_failure(taker);
}

}  // namespace weft::detail

// failure.hpp - checks a failure that the caller hands over.
#pragma once

#include <exception>

#include <weft/detail/export.hpp>

namespace weft::detail {

/// Stops the program: passing a null pointer breaks the contract of `taker`.
WEFT_EXPORT [[noreturn]] void panic_null_failure(const char* taker) noexcept;
inline void require_failure(const std::exception_ptr& e, const char* taker) noexcept {
    if (!e) [[unlikely]]
        panic_null_failure(taker);
}

}  // namespace weft::detail

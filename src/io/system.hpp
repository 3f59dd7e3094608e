// system.hpp - the only way this layer calls the system: a result or a negated errno.
//
// After a park a fiber may run on another thread, but compilers keep the address of errno across
// calls. So errno is read in the one frame that made the call. Nothing is inlined into this frame,
// and it never parks.
#pragma once

#include <cerrno>
#include <system_error>

namespace weft::detail {

/// \returns  the result of `call`, or -errno if the result is negative.
template <class Call>
[[gnu::noinline]] long system_result(Call&& call) noexcept {
    const long result = static_cast<long>(call());
    return result < 0 ? -static_cast<long>(errno) : result;
}

/// The failure in a system_result().
inline std::error_code failure(long result) noexcept { return {static_cast<int>(-result), std::system_category()}; }

}  // namespace weft::detail

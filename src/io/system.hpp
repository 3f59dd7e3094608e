// system.hpp - the only way this layer calls the system: a result or a negated errno, never errno itself.
//
// A fiber may go on, after a park, on another thread, and compilers keep the address of errno across calls. So errno is
// read in the one frame that made the call, which nothing is inlined into and which never parks.
#pragma once

#include <cerrno>
#include <system_error>

namespace weft::detail {

/// \returns  what `call` returns, or -errno if that is negative.
template <class Call>
[[gnu::noinline]] long system_result(Call&& call) noexcept {
    const long result = static_cast<long>(call());
    return result < 0 ? -static_cast<long>(errno) : result;
}

/// The failure in a system_result().
inline std::error_code failure(long result) noexcept { return {static_cast<int>(-result), std::system_category()}; }

}  // namespace weft::detail

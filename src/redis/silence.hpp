// silence.hpp - ends a read or a write that has waited for as long as a server may be silent.
#pragma once

#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

#include <weft/deadline.hpp>
#include <weft/io/byte_stream.hpp>
#include <weft/stop.hpp>

#include "base/duration_text.hpp"

namespace weft::detail::redis {

inline bool is_limit(std::chrono::nanoseconds d) noexcept { return d > std::chrono::nanoseconds::zero() && d != forever; }

/// f(), which moves bytes; interrupted once it has waited for `limit`.
/// \throws  std::runtime_error of `what` and the limit; what f throws; cancelled
template <class F>
std::size_t within(std::chrono::nanoseconds limit, const char* what, F&& f) {
    if (!is_limit(limit)) return f();
    try {
        return with_timeout(limit, f);
    } catch (const timeout_error&) {
        throw std::runtime_error(what + duration_text(limit));
    }
}

/// Writes all of `bytes`. A server that takes none of them for as long as it may be silent is lost.
/// \parks \throws  std::exception; cancelled
inline void write_within(std::chrono::nanoseconds limit, io::byte_stream& to, std::string_view bytes) {
    while (!bytes.empty())
        bytes.remove_prefix(within(limit, "the server has read nothing for ", [&] { return to.write_some(bytes); }));
}

}  // namespace weft::detail::redis

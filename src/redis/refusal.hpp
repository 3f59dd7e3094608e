// refusal.hpp - which commands do not belong on a connection that many fibers share, and why.
#pragma once

#include <span>
#include <string_view>

#include <weft/redis/argument.hpp>

namespace weft::detail::redis {

/// \returns  why the command must not be sent; empty if it may.
std::string_view refusal(std::span<const weft::redis::argument> words) noexcept;

}  // namespace weft::detail::redis

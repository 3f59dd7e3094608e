// holder.hpp - a WebSocket with the stream that it goes over, as connections share it.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include <weft/ws/connection.hpp>
#include <weft/ws/options.hpp>

#include "ws/extension.hpp"
#include "ws/link.hpp"

namespace weft::detail::ws {

struct holder {  // its stream may be shared by std::shared_ptr's aliasing
    holder(io::byte_stream s, link_settings settings, std::string received)
        : stream(std::move(s)), one(stream, std::move(settings), std::move(received)) {}

    io::byte_stream stream;
    link one;
};

/// Makes connections, which programs cannot.
struct connection_access {
    static weft::ws::connection make(const std::shared_ptr<holder>& h) noexcept {
        return weft::ws::connection(std::shared_ptr<link>(h, &h->one));
    }
    static bool has_link(const weft::ws::connection& c) noexcept { return c.link_ != nullptr; }
};

/// \throws std::invalid_argument naming the option of `where`.
void check_compression(const weft::ws::compression& c, const char* where);
void check_ping(std::chrono::nanoseconds ping, const char* where);

inline deflate_wishes wishes_of(const weft::ws::compression& c) noexcept { return {.takeover = c.takeover, .window = c.window}; }

/// A link's settings, as far as both ends have the same options.
template <class Options>
link_settings settings_of(const Options& o, side self, std::string subprotocol, const std::optional<deflate_terms>& deflate) {
    return {.self = self,
            .max_message = std::min<std::uint64_t>(o.max_message, std::uint64_t{1} << 62),
            .ping = o.ping,
            .subprotocol = std::move(subprotocol),
            .deflate = deflate,
            .level = o.compression.level,
            .least = o.compression.least};
}

}  // namespace weft::detail::ws

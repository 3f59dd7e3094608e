// connection.cpp - the public face of a link.
#include <weft/ws/connection.hpp>

#include <stdexcept>
#include <string>
#include <utility>

#include "ws/holder.hpp"

namespace weft::detail::ws {

void check_compression(const weft::ws::compression& c, const char* where) {
    if (c.window < 9 || c.window > 15)
        throw std::invalid_argument(std::string(where) + ": compression.window is " + std::to_string(c.window) +
                                    "; it must be 9 to 15");
    if (c.level < 1 || c.level > 9)
        throw std::invalid_argument(std::string(where) + ": compression.level is " + std::to_string(c.level) +
                                    "; it must be 1 to 9");
}

void check_ping(std::chrono::nanoseconds ping, const char* where) {
    if (ping <= ping.zero())
        throw std::invalid_argument(std::string(where) + ": ping must be more than zero, and weft::no_limit means none");
}

}  // namespace weft::detail::ws

namespace weft::ws {

using weft::detail::ws::opcode;

connection::connection(std::shared_ptr<weft::detail::ws::link> l) noexcept : link_(std::move(l)) {}
connection::connection(connection&&) noexcept = default;

connection& connection::operator=(connection&& other) noexcept {
    connection gone(std::move(other));
    std::swap(link_, gone.link_);
    return *this;
}

connection::~connection() {
    if (link_) link_->end_now();
}

std::optional<message> connection::receive() { return link_->receive(); }

// What other fibers call keeps the link: weft::ws::handlers end a connection by themselves.

void connection::send(std::string_view text) { kept()->send(opcode::text, text); }

void connection::send(std::span<const std::byte> bytes) {
    kept()->send(opcode::binary, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

void connection::send(const message& m) { kept()->send(m.kind == kind::text ? opcode::text : opcode::binary, m.data); }

void connection::ping(std::string_view payload) {
    if (payload.size() > weft::detail::ws::most_of_control)
        throw std::invalid_argument("weft: ws: ping() with more than 125 bytes");
    kept()->send(opcode::ping, payload);
}

bool connection::close(std::uint16_t code, std::string_view reason) { return kept()->close(code, reason); }

ending connection::peer_ending() const { return link_->peer_ending(); }

bool connection::is_open() const noexcept { return link_ && link_->is_open(); }

std::string_view connection::subprotocol() const noexcept { return link_->settings().subprotocol; }

bool connection::is_compressed() const noexcept { return link_->settings().deflate.has_value(); }

}  // namespace weft::ws

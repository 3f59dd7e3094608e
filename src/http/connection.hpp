// connection.hpp - the life of one HTTP connection, on its own fiber, from accept to close.
#pragma once

#include <array>

#include <weft/net/tcp.hpp>

#include "http/service.hpp"

namespace weft::detail {

class http_connection {
public:
    http_connection(http_service& service, tcp::stream stream);
    ~http_connection();
    http_connection(const http_connection&) = delete;
    http_connection& operator=(const http_connection&) = delete;

    /// \parks   until the connection has ended.
    /// \throws  weft::cancelled if a handler was stopped.
    void run();

private:
    enum class [[nodiscard]] next_step : std::uint8_t { go_on, close, vanish };    // vanish: without a word

    // Where an idle connection receives: on its stack, so that it needs no buffer and one read takes most requests whole.
    // chosen: what a browser sends; more would make the idle fiber touch a second page of its stack
    using first_bytes = std::array<char, 512>;

    std::size_t wait_for_request(first_bytes& into);
    next_step serve_burst(exchange& x);
    next_step answer_received(exchange& x);
    next_step answer(exchange& x);
    next_step refuse(exchange& x, int status, std::string_view words);
    http::response handle(http::request& q);
    next_step send(exchange& x, const http::response& r, framing f);
    next_step flush(exchange& x);
    next_step receive(exchange& x);
    time_point receive_deadline(decode_phase phase) noexcept;
    void linger() noexcept;

    http_service& service_;
    tcp::stream stream_;
    http_presence presence_;
    decode_phase timed_phase_ = decode_phase::idle;     // what receive_until_ was set for
    time_point receive_until_ = never;
};

}  // namespace weft::detail

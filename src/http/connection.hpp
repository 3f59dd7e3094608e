// connection.hpp - the life of one HTTP connection, on its own fiber, from accept to close.
#pragma once

#include <array>

#include <weft/io/byte_stream.hpp>
#include <weft/stop.hpp>

#include "http/sender.hpp"
#include "http/service.hpp"

namespace weft::detail {

class http_connection {
public:
    http_connection(http_service& service, io::byte_stream stream);
    ~http_connection();
    http_connection(const http_connection&) = delete;
    http_connection& operator=(const http_connection&) = delete;

    /// \parks   until the connection has ended.
    /// \throws  weft::cancelled if a handler was stopped.
    void run();

private:
    // vanish: close without an answer
    enum class [[nodiscard]] next_step : std::uint8_t { go_on, close, vanish };

    // An idle connection receives into this array on its stack, so that it needs no buffer, and one
    // read takes most requests whole.
    // chosen: what a browser sends; more would make the idle fiber touch a second page of its stack
    using first_bytes = std::array<char, 512>;

    std::size_t wait_for_request(first_bytes& into);
    time_point idle_until() noexcept;
    next_step serve_burst(exchange& x);
    next_step answer_received(exchange& x);
    next_step answer(exchange& x);
    next_step refuse(exchange& x, int status, std::string_view words);
    http::response handle(http::request& q);
    http::response interrupted(const http::request& q, time_point until);
    next_step send(exchange& x, const http::response& r, framing f);
    next_step flush(exchange& x) { return x.out.empty() ? next_step::go_on : send_out(x, {}); }
    next_step send_out(exchange& x, std::string_view body);
    void cut_short(const exchange& x, sent how, std::size_t total) noexcept;
    next_step receive(exchange& x);
    std::size_t receive_some(exchange& x, std::error_code& error);
    void time_phase(decode_phase phase) noexcept;
    void ask_peer() noexcept;
    void linger() noexcept;

    http_service& service_;
    io::byte_stream stream_;
    http_presence presence_;
    http_sender sender_;
    lent_connection lent_;  // its peer is asked for at the first request
    bool peer_asked_ = false;
    bool is_idle_ = false;  // idle_until_ was set since the last answer
    time_point idle_until_ = never;
    decode_phase timed_phase_ = decode_phase::idle;  // the phase for which receive_pace_ was begun
    pace receive_pace_{forever, 0};
    std::uint64_t received_ = 0;  // bytes since the connection was accepted
};

}  // namespace weft::detail

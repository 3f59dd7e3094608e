// connection.hpp - the life of one HTTP connection, on its own fiber, from accept to close.
#pragma once

#include <memory>
#include <optional>

#include <weft/io/byte_stream.hpp>
#include <weft/stop.hpp>

#include "http/arriving_body.hpp"
#include "http/sender.hpp"
#include "http/service.hpp"
#include "http/streamed_answer.hpp"
#include "http/taken_stream.hpp"
#include "io/late_buffer.hpp"

namespace weft::detail {

class http_connection {
public:
    /// What ended run(): the connection is over, or it has been idle for cold_after and is to go on
    /// without this fiber, or a handler has taken it over from HTTP.
    enum class [[nodiscard]] ending : std::uint8_t { over, idle, upgraded };

    /// `idle_until`: the limit of a connection that was idle before, and has something to read.
    http_connection(http_service& service, io::byte_stream stream, std::optional<time_point> idle_until);
    ~http_connection();
    http_connection(const http_connection&) = delete;
    http_connection& operator=(const http_connection&) = delete;

    /// \parks   until the connection has ended.
    /// \throws  weft::cancelled if a handler was stopped.
    ending run();

    /// After ending::idle: the rest of the connection, which hang_up_idle() does not find from now on.
    io::byte_stream take_stream() noexcept;
    time_point idle_limit() const noexcept { return idle_until_; }

    /// After ending::upgraded: what is to go on with take_stream().
    upgrade_request take_upgrade() noexcept { return std::move(upgrade_); }

private:
    friend class arriving_body;
    friend class streamed_answer;

    // chosen: collect up to this much; a body beyond it is not copied
    static constexpr std::size_t flush_bytes = 16 * 1024;

    // vanish: close without an answer
    enum class [[nodiscard]] next_step : std::uint8_t { go_on, close, vanish, upgrade };

    /// What was answered, for the log.
    struct delivery {
        int status;
        std::size_t bytes;
    };

    exchange_pool::lease wait_for_request();
    void leave_awake() noexcept;
    std::size_t read_until_called(late_buffer& into, std::error_code& error);
    std::size_t read_until_idle_limit(late_buffer& into, std::error_code& error);
    void begin_idle() noexcept;
    bool peer_is_done(const exchange& x) const noexcept;
    time_point idle_until() noexcept;
    next_step serve_burst(exchange& x);
    next_step answer_received(exchange& x);
    next_step answer_arriving(exchange& x);
    next_step answer(exchange& x, arriving_body* body = nullptr);
    next_step refuse(exchange& x, int status, std::string_view words);
    http::response handle(http::request& q);
    static http::response unreadable(const http::body_error& e);  // the answer to such a body
    http::response interrupted(const http::request& q, time_point until);
    next_step send(exchange& x, const http::response& r, framing f, std::size_t& bytes);
    next_step stream(exchange& x, const http::response& r, framing f, arriving_body* body, delivery& d);
    next_step upgrade(exchange& x, http::response& r, framing f, delivery& d);
    void give_stream_up(const exchange& x, const streamed_answer& s, std::exception_ptr why);
    next_step flush(exchange& x);
    void write_log() noexcept;
    next_step send_out(exchange& x, std::string_view body);
    void cut_short(const exchange& x, sent how, std::size_t total) noexcept;
    next_step receive(exchange& x);
    std::size_t receive_some(exchange& x, std::error_code& error);
    std::size_t receive_now(exchange& x, std::error_code& error);
    void time_phase(decode_phase phase) noexcept;
    void ask_peer() noexcept;
    void linger() noexcept;

    http_service& service_;
    io::byte_stream stream_;
    http_presence presence_;
    bool is_awake_ = true;  // presence_ is in service_.awake
    http_sender sender_;
    lent_connection lent_;  // its peer is asked for at the first request
    bool peer_asked_ = false;
    bool is_idle_ = false;  // idle_until_ was set since the last answer
    time_point idle_until_ = never;
    std::uint32_t idle_since_;  // by the sweeps of service_.awake
    bool may_be_called_;  // no wait has turned out to be one that a sweep cannot end
    time_point cold_at_ = never;  // set with idle_until_
    bool has_strayed_ = false;  // bytes have come since the last answer that are no request yet
    bool was_idle_;  // when run() began, and not since
    bool gives_fiber_up_ = false;
    bool is_in_answer_ = false;  // the output buffer begins with the rest of an answer
    bool has_reported_ = false;  // to the access log, since write_log()
    bool is_broken_ = false;  // an answer was not sent whole
    decode_phase timed_phase_ = decode_phase::idle;  // the phase for which receive_pace_ was begun
    pace receive_pace_{forever, 0};
    upgrade_request upgrade_;
    std::uint64_t received_ = 0;  // bytes since the connection got this fiber
    std::unique_ptr<known_head> known_;  // of the last request, while there is no exchange; null: nothing
};

}  // namespace weft::detail

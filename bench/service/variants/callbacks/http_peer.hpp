// http_peer.hpp - one HTTP connection as a state machine: what http::server does by a fiber, with the same decoder and writer.
//
//  phase      means                                          leaves by
//  idle       nothing of a request has come                  a byte -> receiving | end, limit -> over
//  receiving  a request is not whole yet                     the rest -> asking | limit, bad bytes -> closing
//  asking     a handler has it                               answer() -> receiving, idle or closing
//  closing    the last answer is being sent                  sent -> lingering
//  lingering  sent all, reads what still comes               end, limit -> over
//  over       to be destroyed at the end of the turn         -
//
// While answers are being sent and the client takes nothing, the peer waits in the phase it has.
// Limits of time are those of http::server, looked at once a tick; there is no least rate.
#pragma once

#include <string_view>

#include <weft/http/message.hpp>

#include "callbacks/loop.hpp"
#include "http/exchange.hpp"
#include "http/response_writer.hpp"

namespace variants {

class http_peer;

/// What a peer asks of its server.
class http_service {
public:
    virtual ~http_service() = default;
    /// Answers by to.answer(), now or later.
    virtual void handle(weft::http::request& asked, http_peer& to) noexcept = 0;
    virtual weft::detail::exchange_pool& exchanges() noexcept = 0;
    virtual weft::detail::time_point now() const noexcept = 0;
    virtual bool stopping() const noexcept = 0;
    /// A peer is over, and no handler has its request: it may be destroyed at the end of the turn.
    virtual void peer_is_over() noexcept = 0;
};

class http_peer {
public:
    http_peer(http_service& of, int fd);

    /// Receives for the first time.
    void begin() { advance(); }
    /// To be called once for each request that was handled.
    void answer(const weft::http::response& r);
    const weft::http::request& asked() const noexcept { return exchange_->request; }

    /// Ends it if it is idle. What has arrived is still answered.
    void hang_up_idle();
    /// Looks at the limits of time.
    void tick();

    bool is_over() const noexcept { return phase_ == phase::over; }
    /// A handler still has its request, so it must not be destroyed while handlers can be called.
    bool is_asking() const noexcept { return asking_; }

private:
    enum class phase : std::uint8_t { idle, receiving, asking, closing, lingering, over };
    enum class [[nodiscard]] flow : std::uint8_t { goes_on, waits };

    void advance();
    flow step();
    flow wait_for_request();
    flow take_request();
    flow receive();
    flow flush();
    flow linger();
    flow enter(phase next);
    void refuse(int status, std::string_view words);
    void write(const weft::http::response& r, weft::detail::framing f);

    http_service& service_;
    watched socket_;
    weft::detail::exchange_pool::lease exchange_;
    std::size_t sent_ = 0;  // of exchange_->out
    weft::detail::time_point since_;  // when the phase began, or bytes moved in it
    phase phase_ = phase::idle;
    bool asking_ = false;  // until answer()
    bool advancing_ = false;
};

}  // namespace variants

// arriving_body.hpp - the body of a request that its handler reads while it arrives.
//
//  phase of the decoder   read_some()                                    leaves by
//  body                   gives what has come, or waits                  the last byte -> idle
//  idle                   gives the rest that was decoded, then 0        -
//  refused                throws the refusal                             -
//
// The client must keep server_options::min_rate while the server waits for it. The time between two
// reads is the handler's, and does not count.
#pragma once

#include <optional>
#include <string>

#include <weft/http/body.hpp>

#include "http/exchange.hpp"
#include "http/pace.hpp"

namespace weft::detail {

class http_connection;

class arriving_body final : public body_source {
public:
    /// The head of the request has been decoded, and nothing of the body.
    arriving_body(http_connection& on, exchange& x);

    std::size_t read_some(std::span<std::byte> into) override;
    std::optional<std::uint64_t> left() const noexcept override;

    /// The head of the answer is to follow. \returns whether more of the body is to come, so that
    /// the head must not wait for what the answer's function writes: it may read first. The "100
    /// Continue" that is due then is in the output buffer.
    bool begin_answer();

    /// Drops what has arrived. \returns whether this was all of the body, and the connection can go
    /// on with the next request.
    bool is_over() noexcept;

private:
    std::size_t take_decoded(std::span<std::byte> into) noexcept;
    std::size_t receive(std::span<std::byte> into);
    std::uint64_t left_past_buffer(std::size_t room) const noexcept;
    std::size_t receive_past_buffer(std::span<std::byte> into, std::error_code& error);
    void receive_into_buffer(std::error_code& error);
    void send_what_is_due();
    [[noreturn]] void fail(std::error_code error);

    http_connection& on_;
    exchange& x_;
    std::string piece_;  // decoded
    std::size_t taken_ = 0;  // of it
    pace pace_;
    // The reader sends nothing any more: it may run on another fiber than the writer.
    bool is_answered_ = false;
    bool is_cut_ = false;  // the client has closed, or the connection has failed
};

}  // namespace weft::detail

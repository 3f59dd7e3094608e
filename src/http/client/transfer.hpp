// transfer.hpp - one request on one connection, from the lease of the connection to its return.
//
//  side     means                                           done
//  sending  the head and the body of the request            when all of it was sent
//  reading  the head and the body of the answer             when all of it was read
//
// Invariants
//   TRANSFER-1  The side that is done last gives the connection back, for the next request if both were
//               done well (sides_, a fetch_or). Until then the lease stays, and each side may use the stream.
//   TRANSFER-2  Only a fiber that has head_mutex_ reads a head. A sender that waits for "100 Continue" reads
//               it itself, or waits for the permit of verdicts_ that the reading fiber releases behind it.
//   TRANSFER-3  Once the caller has the transfer, lease_ changes only under lease_mutex_, which abort() takes as well.
//   TRANSFER-4  Of a body that perform() was given, sender_ sends what the server does not take at once. It
//               has the sending side, and send_failure_, until it has ended; finish_sending() and the
//               destructor see to it that this is before the caller's body is gone.
//   TRANSFER-5  head_ changes once in an attempt, by compare_exchange: to `come` when the head has been read,
//               or to `given_up` by a sender that fails before that. Such a sender ends the stream, and its
//               failure is that of the request.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <weft/deadline.hpp>
#include <weft/fiber.hpp>
#include <weft/mutex.hpp>
#include <weft/semaphore.hpp>

#include "base/atomic.hpp"
#include "http/client/content.hpp"
#include "http/client/core.hpp"
#include "http/client/failure.hpp"

namespace weft::detail {

/// A request as it is sent to one server: a redirect makes another one.
struct client_hop {
    std::string method;
    http_url url;
    http::headers headers;
    http::body_size body = {};
    bool waits_for_continue = false;
    bool is_first_origin = true;  // of the URL that the caller gave
    unsigned redirects = 0;
    bool was_sent = false;  // a request before this one, which has led here
};

/// The limit of a request as a whole.
struct request_limit {
    explicit request_limit(std::chrono::nanoseconds d) noexcept : length(d), until(deadline_after(d)) {}

    std::chrono::nanoseconds length;
    time_point until;
};

class http_transfer {
public:
    http_transfer(client_core& core, client_hop hop, const request_limit& limit) noexcept
        : core_(core), hop_(std::move(hop)), limit_(limit), was_sent_(hop_.was_sent) {}
    http_transfer(const http_transfer&) = delete;
    http_transfer& operator=(const http_transfer&) = delete;

    /// Sends the request and reads the head of the answer; once more if the kept connection was lost. The
    /// body may still be under way then: it must stay until finish_sending() has returned, or the transfer
    /// is gone.
    void perform(std::string_view body);
    /// Called behind the answer to perform(). A server that has accepted the request gets its whole body;
    /// one that has not gets a little more time.
    void finish_sending();
    /// Takes a connection for a request whose body write() sends.
    void begin();

    bool write(std::string_view piece);
    bool flush();
    bool finish();

    const http::answer& head();
    std::size_t read_some(std::span<std::byte> into);
    std::string read_all(std::size_t most);
    std::optional<std::uint64_t> left() const noexcept;
    void abort() noexcept;

    /// Reads what is left of the body, if it is little, so that the connection can be kept.
    void discard_body();
    http::answer take_answer() noexcept { return std::move(answer_); }
    const client_hop& hop() const noexcept { return hop_; }

private:
    enum side : unsigned { sending = 1, reading = 2 };
    enum class head_state : unsigned char { awaited, come, given_up };

    /// Runs f(), and throws what goes wrong as client_error.
    template <class F>
    auto reported(F&& f);

    void connect();
    void append_head();
    bool is_repeatable() const noexcept;
    bool is_stale();
    bool may_send_again(const client_failure& why) const noexcept;
    template <class F>
    bool attempted(F&& send);
    void send_request(std::string_view body);
    void send_rest(std::string_view body) noexcept;
    bool send_collected(std::string_view more, bool is_last);
    bool agrees();
    void await_verdict();
    // acquire pairs with read_next_head()
    bool has_head() const noexcept { return head_.load(acquire) == head_state::come; }
    void ensure_head();
    void read_next_head();
    void done(side s) noexcept;
    void give_up() noexcept;
    [[noreturn]] void raise(const client_failure& why) const;

    client_core& core_;
    client_hop hop_;
    const request_limit limit_;
    const http_url* via_ = nullptr;
    weft::mutex lease_mutex_;
    client_pool::lease lease_;
    std::optional<client_exchange> exchange_;
    http::answer answer_;
    content_reader content_;
    weft::mutex head_mutex_;
    atomic<head_state> head_{head_state::awaited};  // TRANSFER-5
    atomic<bool> is_agreed_{false};           // "100 Continue" has come
    weft::counting_semaphore<> verdicts_{0};  // a permit for each "100 Continue", the answer, and abort()
    std::string collected_;          // of the body, not sent
    std::uint64_t written_ = 0;      // bytes of the body that write() was given
    std::optional<client_failure> send_failure_;
    bool has_asked_ = false;     // whether the server agrees to the body
    bool asks_to_close_ = false;  // by a Connection field of the caller
    atomic<bool> was_sent_;  // a byte of the request may have left
    bool is_refused_ = false;    // the server takes no more of the body
    bool is_ended_ = false;      // finish() was called
    atomic<unsigned> sides_{0};  // those that are done
    atomic<bool> is_spoilt_{false};  // the connection cannot be kept
    weft::fiber<> sender_;  // TRANSFER-4; destroyed first
};

}  // namespace weft::detail

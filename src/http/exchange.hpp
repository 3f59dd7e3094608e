// exchange.hpp - what a connection needs only while it is busy, and the pool that lends it.
//
// Invariants
//   EXCHANGE-1  A connection holds an exchange from its first received byte until everything
//               received has been answered. What is known of its last head it takes out before it
//               gives the exchange back, and puts into the next one (known_head).
//   EXCHANGE-2  An exchange in the pool belongs to no connection, and all its parts together hold
//               at most kept_bytes of the heap. The memory of a large body goes to a pool of its
//               own (body_pool.hpp).
//   EXCHANGE-3  While a connection waits for the rest of a request, its exchange holds at most:
//               what it had when it was lent, its first input buffer, four times what the
//               connection has sent of that request, and what the body pool's budget allows for
//               bodies that are only announced, 16 MiB for all exchanges together. This is so
//               because the input buffer and each text at most double when they grow, fields are
//               limited in number, and a query is not split into parameters.
//   EXCHANGE-4  After a burst, most of whose exchanges the pool does not keep, free heap memory is
//               returned to the system. This happens when an eighth of the exchanges that were lent
//               at once are left, and 8 MB or more have been freed since the last time. Without
//               this glibc keeps what a burst has freed, since free pieces lie between used ones in
//               the arena of each thread (docs/design/http.md).
#pragma once

#include <memory>

#include <weft/detail/annotated_locks.hpp>

#include "base/spin_lock.hpp"
#include "http/body_pool.hpp"
#include "http/request_decoder.hpp"
#include "http/response_writer.hpp"

namespace weft::detail {

struct exchange {
    explicit exchange(decode_limits limits) : in(limits.max_header_bytes), decoder(limits) {}

    input_buffer in;
    request_decoder decoder;
    http::request request;
    std::string out;
    date_line date;
    exchange* next_free = nullptr;
    std::size_t reserved = 0;  // of the body pool's budget, for the request's body

    // chosen: both buffers as a pipelining client fills them
    static constexpr std::size_t kept_bytes = 48 * 1024;

    /// Between two requests, before it goes to another connection (EXCHANGE-1). Without memory, and of
    /// a large head, nothing is kept.
    void take_known_out(std::unique_ptr<known_head>& into) noexcept;

    /// Bytes of the heap that its parts hold. Of the parameters that a server fills in, only those
    /// of the path count, at most sixteen.
    std::size_t held_bytes() const noexcept;

    /// Prepares it for another connection (EXCHANGE-2). \returns how many bytes it has given back
    /// to the heap.
    std::size_t rest() noexcept;
};

/// Lends exchanges, last in, first out: the exchange used most recently is in the cache.
class exchange_pool {
public:
    explicit exchange_pool(decode_limits limits) noexcept : limits_(limits) {}
    ~exchange_pool();
    exchange_pool(const exchange_pool&) = delete;
    exchange_pool& operator=(const exchange_pool&) = delete;

    struct returner {
        exchange_pool* pool;
        void operator()(exchange* x) const noexcept { pool->give_back(x); }
    };
    using lease = std::unique_ptr<exchange, returner>;

    lease take();

    /// Makes room for `left` further bytes of the body that `x` receives, as far as there is memory
    /// for bodies that are only announced.
    void reserve_body(exchange& x, std::size_t left) noexcept {
        if (x.reserved > 0) return;
        auto& body = x.request.parts().body;
        const auto have = x.decoder.has_of_body(x.request);
        x.reserved = bodies_.reserve(body, have, left);
        if (!x.decoder.fills_in_place()) body.resize(have);
    }

    /// Bytes of the body pool's budget that are in use.
    std::size_t held_for_bodies() const noexcept { return bodies_.held(); }

    /// How often EXCHANGE-4 returned memory.
    std::size_t bursts() const noexcept {
        const lock_guard guard(lock_);
        return bursts_;
    }

private:
    void give_back(exchange* x) noexcept;
    void count_lent() noexcept WEFT_REQUIRES(lock_);
    bool burst_is_over() noexcept WEFT_REQUIRES(lock_);

    decode_limits limits_;
    body_pool bodies_;
    mutable spin_lock lock_;
    exchange* free_ WEFT_GUARDED_BY(lock_) = nullptr;
    std::size_t count_ WEFT_GUARDED_BY(lock_) = 0;
    std::size_t lent_ WEFT_GUARDED_BY(lock_) = 0;
    std::size_t most_lent_ WEFT_GUARDED_BY(lock_) = 0;  // since the last burst
    std::size_t freed_ WEFT_GUARDED_BY(lock_) = 0;  // bytes, since memory was last returned
    std::size_t bursts_ WEFT_GUARDED_BY(lock_) = 0;
};

}  // namespace weft::detail

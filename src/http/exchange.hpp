// exchange.hpp - what a connection needs only while it is busy, and the pool that lends it out.
//
// Invariants
//   E1  A connection holds an exchange from its first received byte until everything received has been answered.
//   E2  An exchange in the pool belongs to no connection, and holds at most kept_bytes of the heap, all its parts together.
//   E3  While a connection waits for the rest of a request, its exchange holds at most what it came with, its first input buffer, and four
//       times what the connection has sent of that request: the input buffer and each text are at most doubled as they grow, fields
//       are limited in number, nothing is reserved for what a client only announces, and a query is not taken apart.
//   E4  After a burst, of which the pool keeps little, the heap gives back to the system what is free in it: when an eighth of the exchanges
//       that were lent at once are left, and 8 MB or more have been freed since the last time. Without this
//       glibc keeps what a burst has freed, since free pieces lie between used ones, in the arena of each
//       thread (docs/design/http.md).
#pragma once

#include <memory>

#include "base/spin_lock.hpp"
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

    static constexpr std::size_t kept_bytes = 48 * 1024;  // chosen: both buffers as a client fills them that pipelines

    /// What its parts hold of the heap. Of the parameters a server fills in those of the path, sixteen at most.
    std::size_t held_bytes() const noexcept;

    /// Ready for another connection: E2. \returns  how many bytes it has given back to the heap.
    std::size_t rest() noexcept;
};

/// Last in, first out: the exchange just used is the one in the cache.
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

    /// How often E4 has come true.
    std::size_t bursts() const noexcept { return bursts_; }

private:
    void give_back(exchange* x) noexcept;
    void count_lent() noexcept;
    bool burst_is_over() noexcept;

    decode_limits limits_;
    spin_lock lock_;
    exchange* free_ = nullptr;
    std::size_t count_ = 0;
    std::size_t lent_ = 0;
    std::size_t most_lent_ = 0;  // since the last burst
    std::size_t freed_ = 0;  // bytes, since the heap was told last
    std::size_t bursts_ = 0;
};

}  // namespace weft::detail

// exchange.hpp - what a connection needs only while it is busy, and the pool that lends it out.
//
// Invariants
//   E1  A connection holds an exchange from its first received byte until everything received has been answered.
//   E2  An exchange in the pool holds no byte of any connection, and little memory: what grew large is given back.
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

private:
    void give_back(exchange* x) noexcept;

    decode_limits limits_;
    spin_lock lock_;
    exchange* free_ = nullptr;
    std::size_t count_ = 0;
};

}  // namespace weft::detail

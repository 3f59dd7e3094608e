// meddler.hpp - a proxy between two TCP connections that does with the bytes what a test wants.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include <weft/fiber.hpp>
#include <weft/net/tcp.hpp>
#include <weft/scope.hpp>

#include "support/random.hpp"
#include "tls/support/both_ends.hpp"

namespace weft::test {

/// What happens to the bytes of one direction on their way: it passes them on, by `to`.
using meddling = std::function<void(std::span<std::byte> bytes, tcp::stream& to, std::error_code& error)>;

inline void pass_on(std::span<std::byte> bytes, tcp::stream& to, std::error_code& error) { to.write_all(bytes, error); }

/// Passes the bytes on in pieces of 1 to 7. Others run in between, so that a piece may arrive alone.
class in_small_pieces {
public:
    explicit in_small_pieces(std::minstd_rand random) : random_(random) {}

    void operator()(std::span<std::byte> bytes, tcp::stream& to, std::error_code& error) {
        while (!bytes.empty() && !error) {
            const auto n = std::min<std::size_t>(1 + below(random_, 7), bytes.size());
            to.write_all(bytes.first(n), error);
            bytes = bytes.subspan(n);
            this_fiber::yield();
        }
    }

private:
    std::minstd_rand random_;
};

/// Changes one bit of the byte at a place, and knows what the byte was for: it follows the headers of records.
class flips_a_bit {
public:
    flips_a_bit(std::size_t place, unsigned bit) : place_(place), bit_(bit) {}

    void operator()(std::span<std::byte> bytes, tcp::stream& to, std::error_code& error) {
        for (auto& b : bytes) follow(b);
        to.write_all(bytes, error);
    }
    /// Where in its record the byte was; empty: nothing came that far. 0 is the type, 1 and 2 the version, 3 and 4 the length.
    std::optional<std::size_t> flipped_at() const { return flipped_at_; }

private:
    void follow(std::byte& b) {
        const auto value = std::to_integer<std::size_t>(b);
        if (at_ == 3) size_ = value << 8;
        if (at_ == 4) size_ += value;
        if (seen_++ == place_) {
            flipped_at_ = at_;
            b ^= static_cast<std::byte>(1u << bit_);
        }
        at_ = at_ >= 4 && at_ + 1 == 5 + size_ ? 0 : at_ + 1;
    }

    std::size_t place_, seen_ = 0, at_ = 0, size_ = 0;
    unsigned bit_;
    std::optional<std::size_t> flipped_at_;
};

/// One direction, up to its end, which is passed on. A connection that breaks takes both with it.
inline void pump(tcp::stream& from, tcp::stream& to, const meddling& meddle) {
    std::array<std::byte, 4096> piece;
    std::error_code error;
    while (const auto n = from.read_some(piece, error)) {
        meddle(std::span(piece).first(n), to, error);
        if (error) break;
    }
    if (!error) return to.shutdown(io::side::send, error);
    from.abort();
    to.abort();
}

/// Two ends with a proxy between them, while `f(client's end, server's end)` runs. \pre on a fiber
template <class F>
void through_a_proxy(const meddling& to_server, const meddling& to_client, F&& f) {
    auto [client, near] = tcp_pair();
    auto [far, server] = tcp_pair();
    with_scope([&, &near = near, &far = far, &client = client, &server = server](scope& all) {
        all.spawn([&] { pump(near, far, to_server); });
        all.spawn([&] { pump(far, near, to_client); });
        f(std::move(client), std::move(server));
    });
}

}  // namespace weft::test

// record_parts.hpp - cuts several pieces of bytes into what the records of TLS hold.
//
// Small pieces share a record, so that a head and a short body are one system call and one packet.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <utility>

namespace weft::detail {

inline constexpr std::size_t record_bytes = std::size_t{16} * 1024;  // [RFC8446, 5.1]

class record_parts {
public:
    explicit record_parts(std::span<const std::span<const std::byte>> pieces) noexcept : pieces_(pieces) {}

    /// What to write next; empty at the end. Valid until the next call.
    std::span<const std::byte> next() noexcept {
        skip_empty();
        if (pieces_.empty()) return {};
        const auto first = pieces_.front().subspan(taken_);
        if (first.size() >= record_bytes || pieces_.size() == 1) return first;
        if (!together_) together_.reset(new (std::nothrow) std::byte[record_bytes]);
        return together_ ? put_together() : first;
    }

    /// Says that the first n bytes of next() are written.
    void advance(std::size_t n) noexcept {
        while (n > 0) {
            const auto step = std::min(n, pieces_.front().size() - taken_);
            taken_ += step;
            n -= step;
            skip_empty();
        }
    }

private:
    void skip_empty() noexcept {
        while (!pieces_.empty() && taken_ == pieces_.front().size()) {
            pieces_ = pieces_.subspan(1);
            taken_ = 0;
        }
    }

    std::span<const std::byte> put_together() noexcept {
        std::size_t size = 0;
        auto skipped = taken_;
        for (const auto piece : pieces_) {
            const auto part = piece.subspan(std::exchange(skipped, 0));
            const auto n = std::min(part.size(), record_bytes - size);
            std::copy_n(part.begin(), n, together_.get() + size);
            size += n;
            if (size == record_bytes) break;
        }
        return {together_.get(), size};
    }

    std::span<const std::span<const std::byte>> pieces_;
    std::size_t taken_ = 0;  // of the first piece
    std::unique_ptr<std::byte[]> together_;
};

}  // namespace weft::detail

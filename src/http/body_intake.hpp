// body_intake.hpp - receives a large part of a body through memory that is borrowed for one receive.
//
// One system call takes up to 64 KiB, into memory that the last receive has left in the cache. No
// connection holds such memory while it waits.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <utility>

#include <weft/detail/annotated_locks.hpp>

#include "base/spin_lock.hpp"
#include "io/late_buffer.hpp"

namespace weft::detail {

/// Lends pieces of memory, last in, first out, and keeps a few.
class intake_memory {
public:
    static constexpr std::size_t piece_bytes = 64 * 1024;  // chosen: larger ones leave the cache
    using piece = std::unique_ptr<std::byte[]>;

    /// \returns null if there is no memory.
    piece take() noexcept {
        {
            const lock_guard guard(lock_);
            if (count_ > 0) return std::move(kept_[--count_]);
        }
        return piece(new (std::nothrow) std::byte[piece_bytes]);
    }

    void give_back(piece p) noexcept {
        const lock_guard guard(lock_);
        if (count_ < kept_.size()) kept_[count_++] = std::move(p);
    }

private:
    spin_lock lock_;
    // chosen: so many threads seldom receive bodies at once
    std::array<piece, 8> kept_ WEFT_GUARDED_BY(lock_);
    std::size_t count_ WEFT_GUARDED_BY(lock_) = 0;
};

class body_intake final : public late_buffer {
public:
    /// Receives at most `most` bytes.
    body_intake(intake_memory& from, std::size_t most) noexcept
        : from_(from), most_(std::min(most, intake_memory::piece_bytes)) {}
    body_intake(const body_intake&) = delete;
    body_intake& operator=(const body_intake&) = delete;
    ~body_intake() { give_back(); }

    std::span<std::byte> take() noexcept override {
        if (!piece_) piece_ = from_.take();
        return {piece_.get(), piece_ ? most_ : 0};
    }
    void give_back() noexcept override {
        if (piece_) from_.give_back(std::move(piece_));
    }

    /// The first `n` bytes, which were received.
    std::string_view bytes(std::size_t n) const noexcept { return {reinterpret_cast<const char*>(piece_.get()), n}; }

private:
    intake_memory& from_;
    const std::size_t most_;
    intake_memory::piece piece_;
};

}  // namespace weft::detail

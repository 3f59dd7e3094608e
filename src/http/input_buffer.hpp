// input_buffer.hpp - the bytes of one connection that are received and not yet parsed, contiguous.
//
// Invariants
//   INPUT_BUFFER-1  begin_ <= end_ <= bytes_.size(); unread() is [begin_, end_).
//   INPUT_BUFFER-2  Views into the buffer are valid until the next room(), which may move the
//                   unread bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

namespace weft::detail {

class input_buffer {
public:
    explicit input_buffer(std::size_t limit) noexcept : limit_(std::max(limit, first_capacity)) {}

    std::string_view unread() const noexcept { return {bytes_.get() + begin_, end_ - begin_}; }

    void consume(std::size_t n) noexcept {
        begin_ += n;
        if (begin_ == end_) begin_ = end_ = 0;
    }

    /// Room to receive into; empty only if `limit` bytes are unread. Grows if the last read has
    /// filled the buffer.
    std::span<char> room() {
        if (begin_ > 0) slide();
        if (end_ == capacity_ && capacity_ < limit_) grow();
        return {bytes_.get() + end_, capacity_ - end_};
    }

    /// Appends bytes as if they were received; there must be fewer than room() offers.
    void append(std::string_view bytes) {
        std::memcpy(room().data(), bytes.data(), bytes.size());
        received(bytes.size());
    }

    void received(std::size_t n) noexcept { end_ += n; }

    /// Drops the bytes and keeps the memory.
    void clear() noexcept { begin_ = end_ = 0; }

    /// Drops the bytes and frees the memory.
    void release() noexcept {
        bytes_.reset();
        begin_ = end_ = capacity_ = 0;
    }

    std::size_t capacity() const noexcept { return capacity_; }

private:
    // chosen: holds a small request and more; ten thousand slow senders hold 40 MB, not 160
    static constexpr std::size_t first_capacity = 4096;

    void slide() noexcept {
        std::memmove(bytes_.get(), bytes_.get() + begin_, end_ - begin_);
        end_ -= begin_;
        begin_ = 0;
    }

    void grow() {
        const auto capacity = capacity_ == 0 ? first_capacity : std::min(capacity_ * 2, limit_);
        std::unique_ptr<char[]> larger(new char[capacity]);
        if (end_ > 0) std::memcpy(larger.get(), bytes_.get(), end_);
        bytes_ = std::move(larger);
        capacity_ = capacity;
    }

    std::unique_ptr<char[]> bytes_;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
    std::size_t capacity_ = 0;
    std::size_t limit_;
};

}  // namespace weft::detail

// input_buffer.hpp - the bytes of one connection that have been received and not yet understood, contiguous.
//
// Invariants
//   B1  begin_ <= end_ <= bytes_.size(); unread() is [begin_, end_).
//   B2  Views into the buffer hold until the next room(), which may move what is unread.
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

    /// Room to receive into: empty only if `limit` bytes lie unread. Grows when a read has filled it before.
    std::span<char> room() {
        if (begin_ > 0) slide();
        if (end_ == capacity_ && capacity_ < limit_) grow();
        return {bytes_.get() + end_, capacity_ - end_};
    }

    /// As if received; for less than room() offers.
    void append(std::string_view bytes) {
        std::memcpy(room().data(), bytes.data(), bytes.size());
        received(bytes.size());
    }

    void received(std::size_t n) noexcept { end_ += n; }

    /// Forgets the bytes.
    void clear() noexcept { begin_ = end_ = 0; }

    /// The same, and gives the memory back.
    void release() noexcept {
        bytes_.reset();
        begin_ = end_ = capacity_ = 0;
    }

    std::size_t capacity() const noexcept { return capacity_; }

private:
    // chosen: a small request and then some; ten thousand slow senders hold 40 MB, not 160
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

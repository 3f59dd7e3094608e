// channel_buffer.hpp - the values a channel stores: a ring of trivial ones, or a list of nodes.
//
// Trivial values (element_operations::trivial) are copied while the channel's lock is held. Moving
// any other value runs user code, which must not run under a lock. So room for it is reserved under
// the lock, its node is filled without the lock, and the node is linked under the lock. Values are
// therefore stored in the order in which they became complete.
//
// Invariants
//   CHANNEL_BUFFER-1  size() <= capacity whenever the lock is given up, and size() + reserved <=
//                     capacity as well, but for a channel that drops the oldest value: a send that
//                     finds no room there reserves some beyond the capacity. Whichever send then
//                     stores one value too many takes the oldest one out.
//   CHANNEL_BUFFER-2  A linked node holds a value. A spare node, and a node that is being filled or
//                     emptied, is known to only one operation.
//   CHANNEL_BUFFER-3  A ring has no nodes and no reservations.
//
// All functions except allocate(), free(), value(), deliver() and move_in() are called under the channel's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include <weft/detail/channel_core.hpp>

namespace weft::detail {

struct channel_node {
    channel_node* next = nullptr;  // the value follows
};

class channel_buffer {
public:
    channel_buffer(const element_operations& element, std::size_t capacity)
        : element_(element),
          capacity_(capacity),
          ring_(make_ring(element, capacity)),
          ring_end_(ring_ ? ring_ + capacity * element.bytes : nullptr),
          in_(ring_),
          out_(ring_) {}
    channel_buffer(const channel_buffer&) = delete;
    channel_buffer& operator=(const channel_buffer&) = delete;
    ~channel_buffer() {
        while (channel_node* const n = pop()) {
            element_.drop ? element_.drop(value(*n), element_) : element_.destroy(value(*n));
            free(n);
        }
        while (channel_node* const n = take_spare()) free(n);
        if (!ring_) return;
        for (; element_.drop && size_ != 0; drop_front()) element_.drop(out_, element_);
        ::operator delete(ring_, std::align_val_t(element_.alignment));
    }

    const element_operations& element() const noexcept { return element_; }
    std::size_t capacity() const noexcept { return capacity_; }
    std::size_t size() const noexcept { return size_; }
    bool is_ring() const noexcept { return ring_ != nullptr; }
    bool has_room() const noexcept { return size_ + reserved_ < capacity_; }
    /// Whether the oldest value must be dropped now (CHANNEL_BUFFER-1).
    bool is_overfull() const noexcept { return size_ > capacity_; }
    /// Whether no value is stored and none is on its way.
    bool is_drained() const noexcept { return size_ + reserved_ == 0; }

    // ring
    bool ring_has_room() const noexcept { return size_ < capacity_ && ring_; }
    bool ring_has_value() const noexcept { return size_ != 0 && ring_; }
    void copy_in(const void* from) noexcept {
        copy(in_, from);
        in_ = after(in_);
        ++size_;
    }
    void copy_out(void* place) noexcept {
        deliver(place, out_);
        drop_front();
    }
    void drop_front() noexcept {
        out_ = after(out_);
        --size_;
    }

    // nodes
    void reserve() noexcept { ++reserved_; }
    void unreserve() noexcept { --reserved_; }

    void link(channel_node& n) noexcept {
        n.next = nullptr;
        (last_ ? last_->next : oldest_) = &n;
        last_ = &n;
        ++size_;
    }
    /// \returns  the oldest node, or null if there is none.
    channel_node* pop() noexcept {
        channel_node* const n = oldest_;
        if (!n) return nullptr;
        oldest_ = n->next;
        if (!oldest_) last_ = nullptr;
        --size_;
        return n;
    }

    /// Keeps an empty node for later. \returns  the node if there are enough already: the caller
    /// frees it without the lock.
    [[nodiscard]] channel_node* keep_spare(channel_node* n) noexcept {
        constexpr std::size_t most_spares = 64;  // chosen: a burst's worth
        if (!n || spares_ == most_spares) return n;
        n->next = spare_;
        spare_ = n;
        ++spares_;
        return nullptr;
    }
    /// \returns  an empty node, or null if there is none: the caller then allocates one without the
    ///           lock.
    channel_node* take_spare() noexcept {
        channel_node* const n = spare_;
        if (!n) return nullptr;
        spare_ = n->next;
        --spares_;
        return n;
    }

    void deliver(void* place, void* from) const { element_.deliver(place, from, element_); }
    void move_in(channel_node& n, void* from) const { element_.move(value(n), from, element_); }

    void* value(channel_node& n) const noexcept { return reinterpret_cast<std::byte*>(&n) + value_offset(); }
    channel_node* allocate() const {
        void* const room = ::operator new(value_offset() + element_.bytes, std::align_val_t(node_alignment()));
        return ::new (room) channel_node;
    }
    /// Does nothing for null.
    void free(channel_node* n) const noexcept { ::operator delete(n, std::align_val_t(node_alignment())); }

private:
    static std::byte* make_ring(const element_operations& element, std::size_t capacity) {
        // chosen: for larger buffers memory should be used only for values that are stored
        constexpr std::size_t most_bytes = 256 * 1024;
        if (!element.trivial || capacity == 0 || capacity > most_bytes / element.bytes) return nullptr;
        return static_cast<std::byte*>(::operator new(capacity* element.bytes, std::align_val_t(element.alignment)));
    }
    std::byte* after(std::byte* cell) const noexcept {
        cell += element_.bytes;
        return cell == ring_end_ ? ring_ : cell;
    }
    void copy(void* to, const void* from) const noexcept {
        if (element_.bytes == 8)
            std::memcpy(to, from, 8);  // the most frequent size, copied without a call
        else
            std::memcpy(to, from, element_.bytes);
    }

    std::size_t node_alignment() const noexcept {
        return element_.alignment > alignof(channel_node) ? element_.alignment : alignof(channel_node);
    }
    std::size_t value_offset() const noexcept {
        const auto a = node_alignment();
        return (sizeof(channel_node) + a - 1) / a * a;
    }

    const element_operations& element_;
    const std::size_t capacity_;
    std::size_t size_ = 0;
    std::size_t reserved_ = 0;
    std::byte* const ring_;
    std::byte* const ring_end_;
    std::byte* in_;  // the ring's next free place
    std::byte* out_;  // the oldest value in the ring
    channel_node* oldest_ = nullptr;
    channel_node* last_ = nullptr;
    channel_node* spare_ = nullptr;
    std::size_t spares_ = 0;
};

}  // namespace weft::detail

// ring.hpp - the public half of a worker's run queue, in order of arrival. Bounded; overflow goes to the injector.
//
// Invariants
//   Q1  Only the owner stores tail_. Any thread may advance head_, and only by compare-exchange.
//   Q2  0 <= tail_ - head_ <= capacity, computed modulo 2^32.
//   Q3  An item lies in slots [head_, tail_) of one ring, or in no ring at all.
//   Q4  A taker copies slots [h, h+k) first and then moves head_ from h to h+k. If the exchange succeeds the copies are
//       valid and its own; if it fails they mean nothing. The owner reuses a slot only below head_.
//
// Not promised: size() seen by another thread is a hint, stale in both directions.
//
// "Owner only" is a type: `ring::owner` pushes and pops, `ring::thief` steals. Model test: tests/model/ring_model.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/atomic.hpp"

namespace weft::detail {

template <class T, std::uint32_t capacity = 256>
class ring {
    static_assert((capacity & (capacity - 1)) == 0, "positions are computed modulo 2^32");

public:
    ring() = default;
    /// Positions begin at `first`: a test starts near their wrap.
    explicit ring(std::uint32_t first) noexcept : head_(first), tail_(first) {}
    ring(const ring&) = delete;
    ring& operator=(const ring&) = delete;

    class owner;
    class thief;

    std::uint32_t size() const noexcept {
        const auto head = head_.load(relaxed);  // a hint: neither word is ordered with the other
        const auto n = tail_.load(relaxed) - head;
        return n <= capacity ? n : 0;
    }
    bool empty() const noexcept { return size() == 0; }

private:
    static constexpr std::uint32_t mask = capacity - 1;

    alignas(64) atomic<std::uint32_t> head_{0};
    alignas(64) atomic<std::uint32_t> tail_{0};
    std::array<atomic<T*>, capacity> slots_{};
};

template <class T, std::uint32_t capacity>
class ring<T, capacity>::owner {
public:
    explicit owner(ring& r) noexcept : ring_(r) {}

    bool push(T& item) noexcept {
        const auto tail = ring_.tail_.load(relaxed);      // own store (Q1)
        const auto head = ring_.head_.load(acquire);      // pairs with the release in take(): the slot has been read (Q4)
        if (tail - head == capacity) return false;        // Q2; the caller overflows to the injector
        ring_.slots_[tail & mask].store(&item, relaxed);  // invisible until the next line
        ring_.tail_.store(tail + 1, release);             // publishes the slot (Q3); pairs with the acquire in take()
        return true;
    }

    /// The oldest item, or null.
    T* pop() noexcept {
        auto head = ring_.head_.load(relaxed);            // the exchange below decides
        for (;;) {
            if (head == ring_.tail_.load(relaxed)) return nullptr;         // own store (Q1)
            T* const item = ring_.slots_[head & mask].load(relaxed);       // own store
            // release: pairs with the acquire in push() (Q4); own slots need no acquire
            if (ring_.head_.compare_exchange_weak(head, head + 1, acq_rel, relaxed)) return item;
        }
    }

    /// Takes up to `most` of the oldest items out, to make room.
    std::uint32_t take(T** out, std::uint32_t most) noexcept { return ring_take(ring_, out, most); }

private:
    friend class thief;
    static std::uint32_t ring_take(ring& r, T** out, std::uint32_t most) noexcept {
        auto head = r.head_.load(acquire);                // with tail_ below: never past what was published
        for (;;) {
            const auto tail = r.tail_.load(acquire);      // pairs with the release in push(): slots are written (Q3)
            auto n = tail - head;
            if (n == 0 || n > capacity) return 0;         // head is older than tail: empty, or overtaken; try later
            if (n > most) n = most;
            for (std::uint32_t i = 0; i < n; ++i) out[i] = r.slots_[(head + i) & mask].load(relaxed);  // Q4
            // release: pairs with the acquire in push(): slots have been read (Q4)
            if (r.head_.compare_exchange_strong(head, head + n, acq_rel, acquire)) return n;
        }
    }
    ring& ring_;
};

template <class T, std::uint32_t capacity>
class ring<T, capacity>::thief {
public:
    explicit thief(ring& r) noexcept : ring_(r) {}

    /// Takes half, rounded up, of the oldest items, at most `most`.
    std::uint32_t steal(T** out, std::uint32_t most) noexcept {
        const auto half = (ring_.size() + 1) / 2;
        return half == 0 ? 0 : owner::ring_take(ring_, out, half < most ? half : most);
    }

private:
    ring& ring_;
};

}  // namespace weft::detail

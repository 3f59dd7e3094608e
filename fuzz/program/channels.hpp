// channels.hpp - a channel of a random program: its values are numbers, carried bit by bit or by objects that own memory.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include <weft/select.hpp>
#include <weft/stop.hpp>

#include "program/history.hpp"
#include "program/plant.hpp"

namespace weft::fuzz {

/// A number that is moved, never copied, and counted.
class owned_number {
public:
    explicit owned_number(std::uint64_t n) : n_(std::make_unique<std::uint64_t>(n)) {
        alive.fetch_add(1, std::memory_order_relaxed);
    }
    owned_number(owned_number&& other) noexcept : n_(std::move(other.n_)) {}
    owned_number& operator=(owned_number&& other) noexcept {
        drop();
        n_ = std::move(other.n_);
        return *this;
    }
    ~owned_number() { drop(); }

    std::uint64_t value() const noexcept { return n_ ? *n_ : 0; }
    static inline std::atomic<long> alive{0};

private:
    void drop() noexcept {
        if (n_) alive.fetch_sub(1, std::memory_order_relaxed);
        n_.reset();
    }
    std::unique_ptr<std::uint64_t> n_;
};

inline std::uint64_t value_of(std::uint64_t n) noexcept { return n; }
inline std::uint64_t value_of(const owned_number& n) noexcept { return n.value(); }

class any_channel {
public:
    using received = std::function<void(std::optional<std::uint64_t>)>;

    virtual ~any_channel() = default;
    virtual ending send(std::uint64_t value, form how, std::chrono::microseconds limit) = 0;
    virtual ending receive(std::uint64_t& value, form how, std::chrono::microseconds limit) = 0;
    virtual void close() = 0;
    virtual weft::select_case receiving(received) = 0;
    virtual weft::select_case sending(std::uint64_t value, std::function<void()>) = 0;
};

inline ending ending_of(weft::channel_op op) noexcept {
    switch (op) {
        case weft::channel_op::done: return ending::done;
        case weft::channel_op::closed: return ending::closed;
        case weft::channel_op::timeout: return ending::timeout;
        case weft::channel_op::empty:
        case weft::channel_op::full: break;
    }
    return ending::not_now;
}

template <class T>
class channel_of final : public any_channel {
public:
    channel_of(std::size_t capacity, plant wrong) : channel_(capacity), wrong_(wrong) {}

    ending send(std::uint64_t value, form how, std::chrono::microseconds limit) override {
        T carried(value);
        switch (how) {
            case form::tries: return ending_of(channel_.try_send_op(carried));
            case form::timed: return ending_of(channel_.send_for(carried, limit));
            default: channel_.send(std::move(carried)); return ending::done;
        }
    }
    ending receive(std::uint64_t& value, form how, std::chrono::microseconds limit) override {
        if (wrong_ != plant::nothing) [[unlikely]]
            return receive_wrongly(value, how, limit);
        return receive_well(value, how, limit);
    }
    void close() override { channel_.close(); }
    weft::select_case receiving(received f) override {
        return weft::on_receive(channel_,
                                [f = std::move(f)](std::optional<T> v) { f(v ? std::optional(value_of(*v)) : std::nullopt); });
    }
    weft::select_case sending(std::uint64_t value, std::function<void()> f) override {
        return weft::on_send(channel_, T(value), std::move(f));
    }

private:
    ending receive_well(std::uint64_t& value, form how, std::chrono::microseconds limit) {
        if (how == form::waits) {
            const auto got = channel_.receive();
            if (got) value = value_of(*got);
            return got ? ending::done : ending::closed;
        }
        T got(0);
        const auto end = ending_of(how == form::tries ? channel_.try_receive_op(got) : channel_.receive_for(got, limit));
        if (end == ending::done) value = value_of(got);
        return end;
    }

    /// What a channel might do if it were wrong.
    ending receive_wrongly(std::uint64_t& value, form how, std::chrono::microseconds limit) {
        switch (wrong_) {
            case plant::lost_value: {
                std::uint64_t lost = 0;
                if (++calls_ % 3 == 0) static_cast<void>(receive_well(lost, form::tries, limit));
                break;
            }
            case plant::doubled_value:
                if (++calls_ % 3 == 0 && last_ != 0) {
                    value = last_;
                    return ending::done;
                }
                break;
            case plant::swapped_values:
                if (held_back_ != 0) {
                    value = std::exchange(held_back_, 0);
                    return ending::done;
                }
                if (receive_well(held_back_, form::tries, limit) != ending::done) held_back_ = 0;
                break;
            case plant::early_timeout: limit /= 2; break;
            case plant::deafness:
                if (how == form::waits) {
                    const weft::shield deaf;
                    return receive_well(value, form::timed, std::chrono::hours(1));
                }
                break;
            case plant::empty_too_early:
                if (how == form::tries) return ending::not_now;
                break;
            default: break;
        }
        const auto end = receive_well(value, how, limit);
        if (end == ending::done) last_ = value;
        if (end != ending::done && held_back_ != 0) {
            value = std::exchange(held_back_, 0);
            return ending::done;
        }
        return end;
    }

    weft::channel<T> channel_;
    const plant wrong_;
    unsigned calls_ = 0;
    std::uint64_t last_ = 0, held_back_ = 0;
};

}  // namespace weft::fuzz

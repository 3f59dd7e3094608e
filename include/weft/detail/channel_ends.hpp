// channel_ends.hpp - the operations that channel<T> shares with sender<T> and receiver<T>.
#pragma once

#include <chrono>
#include <concepts>
#include <iterator>
#include <optional>
#include <type_traits>
#include <utility>

#include <weft/detail/channel_core.hpp>
#include <weft/detail/timeouts.hpp>

namespace weft::detail {

/// The operations of every handle. A handle is copied like a pointer, and const does not protect
/// the channel.
template <class T>
class channel_handle {
public:
    using value_type = T;

    /// Ends the channel: waiting and later sends throw channel_closed, and stored values can still
    /// be received. May be called again.
    void close() const noexcept { channel_close(ref_.core()); }
    /// Whether close() was called; values may still be stored.
    [[nodiscard]] bool closed() const noexcept { return channel_is_closed(ref_.core()); }
    /// How many values are stored: a snapshot.
    [[nodiscard]] std::size_t size() const noexcept { return channel_size(ref_.core()); }
    [[nodiscard]] std::size_t capacity() const noexcept { return channel_capacity(ref_.core()); }

    friend bool operator==(const channel_handle&, const channel_handle&) noexcept = default;

protected:
    explicit channel_handle(channel_ref ref) noexcept : ref_(std::move(ref)) {}
    ~channel_handle() = default;
    channel_handle(const channel_handle&) = default;
    channel_handle(channel_handle&&) noexcept = default;
    channel_handle& operator=(const channel_handle&) = default;
    channel_handle& operator=(channel_handle&&) noexcept = default;

    const channel_ref& ref() const noexcept { return ref_; }

private:
    friend struct channel_access;
    channel_ref ref_;
};

/// Gives select the core behind a handle.
struct channel_access {
    template <class T>
    static const channel_ref& ref(const channel_handle<T>& h) noexcept {
        return h.ref_;
    }
};

/// The operations of a handle `Self`, a channel_handle<T>, that may send.
template <class Self, class T>
class send_operations {
public:
    /// Puts a value into the channel, or gives it to a waiting receiver.
    ///
    /// \parks   while the channel is full, if channel_options say so; with capacity 0, until a
    ///          receiver takes the value. A plain thread sleeps instead.
    /// \throws  channel_closed; weft::cancelled if this fiber is asked to stop first, and then
    ///          nothing was sent; std::system_error (no_buffer_space) with overflow::fail or
    ///          back_off.
    /// \orders  the send happens before the return of the receive() that takes the value.
    /// \cost    one uncontended lock; to store a value that is not trivially copyable, a second one
    ///          and a pooled node.
    void send(T value) const {
        if (const auto result = channel_send(core(), &value, never); result != channel_op::done) channel_not_sent(core(), result);
    }

    /// Sends only if that is possible without waiting; otherwise the value is not moved from. With
    /// overflow::drop_oldest it always is.
    ///
    /// \returns  true if it was sent.
    bool try_send(T& value) const { return try_send_op(value) == channel_op::done; }
    bool try_send(T&& value) const { return try_send_op(value) == channel_op::done; }

    /// \returns  done, full or closed; `value` is moved from only when done.
    channel_op try_send_op(T& value) const { return channel_try_send(core(), &value); }
    channel_op try_send_op(T&& value) const { return try_send_op(value); }

    /// Sends as send() does, but waits for at most `d`.
    ///
    /// \returns  done, closed, timeout, or full if channel_options do not let it wait (longer);
    ///           `value` is moved from only when done.
    /// \parks    as send().
    /// \throws   weft::cancelled, as send(); `value` is then untouched.
    template <class Rep, class Period>
    channel_op send_for(T& value, const std::chrono::duration<Rep, Period>& d) const {
        return channel_send(core(), &value, deadline_in(d));
    }
    template <class Rep, class Period>
    channel_op send_for(T&& value, const std::chrono::duration<Rep, Period>& d) const {
        return send_for(value, d);
    }
    /// Sends as send_for() does, but waits until `t` at most.
    template <class Clock, class Duration>
    channel_op send_until(T& value, const std::chrono::time_point<Clock, Duration>& t) const {
        return channel_send(core(), &value, deadline_at(t));
    }
    template <class Clock, class Duration>
    channel_op send_until(T&& value, const std::chrono::time_point<Clock, Duration>& t) const {
        return send_until(value, t);
    }

private:
    channel_core& core() const noexcept { return channel_access::ref<T>(static_cast<const Self&>(*this)).core(); }
};

/// Receives one value per step, until the channel is closed and drained.
template <class T>
class channel_iterator {
public:
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::input_iterator_tag;
    /// The variable of a loop over values that cannot be copied may be a value:
    /// `for (tcp::stream peer : accepted)`.
    using reference = std::conditional_t<std::copy_constructible<T>, T&, T&&>;

    channel_iterator() = default;
    explicit channel_iterator(channel_ref ref) : ref_(std::move(ref)) { ++*this; }

    reference operator*() const noexcept { return static_cast<reference>(*current_); }
    channel_iterator& operator++() {
        current_.reset();
        channel_receive(ref_.core(), &current_, never);
        return *this;
    }
    void operator++(int) { ++*this; }

    friend bool operator==(const channel_iterator& i, std::default_sentinel_t) noexcept { return !i.current_; }

private:
    channel_ref ref_;
    // The loop's body owns the element, but algorithms see its iterator as const.
    mutable std::optional<T> current_;
};

/// The operations of a handle `Self`, a channel_handle<T>, that may receive.
template <class Self, class T>
class receive_operations {
public:
    /// Waits for a value and takes it.
    ///
    /// \returns  the oldest value; an empty optional once the channel is closed and drained.
    /// \parks    while the channel is empty. A plain thread sleeps instead; a worker never does.
    /// \throws   weft::cancelled if this fiber is asked to stop first, and then no value is lost.
    /// \orders   the matching send() happens before the return.
    /// \cost     one uncontended lock; a second one for a stored value that is not trivially
    ///           copyable.
    std::optional<T> receive() const {
        std::optional<T> value;
        channel_receive(core(), &value, never);
        return value;
    }

    /// \returns  the oldest value, or an empty optional if receiving would have to wait.
    [[nodiscard]] std::optional<T> try_receive() const {
        std::optional<T> value;
        channel_try_receive(core(), &value);
        return value;
    }

    /// \returns  done, empty, or closed (and drained); `out` is assigned only when done.
    channel_op try_receive_op(T& out) const {
        std::optional<T> value;
        return assigned(out, value, channel_try_receive(core(), &value));
    }

    /// Receives as receive() does, but waits for at most `d`.
    ///
    /// \returns  done, closed (and drained) or timeout; `out` is assigned only when done.
    /// \parks    as receive().
    /// \throws   weft::cancelled, as receive().
    template <class Rep, class Period>
    channel_op receive_for(T& out, const std::chrono::duration<Rep, Period>& d) const {
        std::optional<T> value;
        return assigned(out, value, channel_receive(core(), &value, deadline_in(d)));
    }
    /// Receives as receive_for() does, but waits until `t` at most.
    template <class Clock, class Duration>
    channel_op receive_until(T& out, const std::chrono::time_point<Clock, Duration>& t) const {
        std::optional<T> value;
        return assigned(out, value, channel_receive(core(), &value, deadline_at(t)));
    }

    /// The values as an input range, until the channel is closed and drained.
    ///
    /// \parks   at begin() and at each step, as receive().
    /// \throws  weft::cancelled, as receive().
    channel_iterator<T> begin() const { return channel_iterator<T>(channel_access::ref<T>(static_cast<const Self&>(*this))); }
    std::default_sentinel_t end() const noexcept { return {}; }

private:
    static channel_op assigned(T& out, std::optional<T>& value, channel_op result) {
        if (result == channel_op::done) out = std::move(*value);
        return result;
    }

    channel_core& core() const noexcept { return channel_access::ref<T>(static_cast<const Self&>(*this)).core(); }
};

}  // namespace weft::detail

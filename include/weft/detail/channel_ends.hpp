// channel_ends.hpp - the operations that channel<T> shares with its one-way views sender<T> and receiver<T>.
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

/// What every handle can do. A handle is copied like a pointer and const like one.
template <class T>
class channel_handle {
public:
    using value_type = T;

    /// Ends the channel: later sends throw channel_closed, waiting ones too; stored values remain to be received. Idempotent.
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

/// For select: the core behind a handle.
struct channel_access {
    template <class T>
    static const channel_ref& ref(const channel_handle<T>& h) noexcept {
        return h.ref_;
    }
};

/// `Self` is a channel_handle<T> that may send.
template <class Self, class T>
class send_operations {
public:
    /// Puts a value into the channel, or into the hands of a receiver.
    ///
    /// \parks   while the channel is full; with capacity 0, until a receiver takes the value. A plain thread sleeps instead.
    /// \throws  channel_closed; weft::cancelled if this fiber is asked to stop first: nothing was sent then.
    /// \orders  the send happens before the return of the receive() that takes the value.
    /// \cost    one uncontended lock; a second one, and a pooled node, to store a value that is not trivially copyable.
    void send(T value) const {
        if (channel_send(core(), &value, never) == channel_op::closed) throw_channel_closed();
    }

    /// Sends only if that is possible without waiting; else the value stays where it is.
    ///
    /// \returns  true if it was sent.
    bool try_send(T& value) const { return try_send_op(value) == channel_op::done; }
    bool try_send(T&& value) const { return try_send_op(value) == channel_op::done; }

    /// \returns  done, full or closed; `value` is moved from only when done.
    channel_op try_send_op(T& value) const { return channel_try_send(core(), &value); }
    channel_op try_send_op(T&& value) const { return try_send_op(value); }

    /// As send(), for at most `d`.
    ///
    /// \returns  done, closed or timeout; `value` is moved from only when done.
    /// \parks    as send().
    /// \throws   weft::cancelled, as send(); `value` is untouched then.
    template <class Rep, class Period>
    channel_op send_for(T& value, const std::chrono::duration<Rep, Period>& d) const {
        return channel_send(core(), &value, deadline_in(d));
    }
    template <class Rep, class Period>
    channel_op send_for(T&& value, const std::chrono::duration<Rep, Period>& d) const {
        return send_for(value, d);
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
    /// A loop over values that cannot be copied may name its variable by value: `for (tcp::stream peer : accepted)`.
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
    mutable std::optional<T> current_;  // the element belongs to the loop's body, whose iterator is const to algorithms
};

/// `Self` is a channel_handle<T> that may receive.
template <class Self, class T>
class receive_operations {
public:
    /// Waits for a value and takes it.
    ///
    /// \returns  the oldest value; an empty optional once the channel is closed and drained.
    /// \parks    while the channel is empty. A plain thread sleeps instead; a worker never does.
    /// \throws   weft::cancelled if this fiber is asked to stop first; no value is lost then.
    /// \orders   the matching send() happens before the return.
    /// \cost     one uncontended lock; a second one for a stored value that is not trivially copyable.
    std::optional<T> receive() const {
        std::optional<T> value;
        channel_receive(core(), &value, never);
        return value;
    }

    /// \returns  the oldest value, if one is there without waiting.
    std::optional<T> try_receive() const {
        std::optional<T> value;
        channel_try_receive(core(), &value);
        return value;
    }

    /// \returns  done, empty, or closed (and drained); `out` is assigned to only when done.
    channel_op try_receive_op(T& out) const {
        std::optional<T> value;
        return assigned(out, value, channel_try_receive(core(), &value));
    }

    /// As receive(), for at most `d`.
    ///
    /// \returns  done, closed (and drained) or timeout; `out` is assigned to only when done.
    /// \parks    as receive().
    /// \throws   weft::cancelled, as receive().
    template <class Rep, class Period>
    channel_op receive_for(T& out, const std::chrono::duration<Rep, Period>& d) const {
        std::optional<T> value;
        return assigned(out, value, channel_receive(core(), &value, deadline_in(d)));
    }

    /// An input range of the values until the channel is closed and drained.
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

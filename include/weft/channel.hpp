// channel.hpp - passes values between fibers and plain threads alike; behaves like Go's channels.
//
// Rules
//   1  Every value sent is received once, or dropped with the channel when its last handle is gone,
//      or dropped when the channel is full, if channel_options say so.
//   2  Values of one sender arrive in the order sent. Waiting senders and receivers are served
//      oldest first.
//   3  A send that does not succeed (closed, timeout, cancelled) has sent nothing; a receive that
//      does not succeed has taken nothing.
//   4  Moves and destructors of T run without any lock of the channel, on the sending or the
//      receiving fiber. When a move throws, the operation that ran it throws. The value that
//      was being moved stays as the failed move left it; if it was stored in the channel, it is
//      dropped. No other value is lost, the other
//      side goes on waiting, and the channel remains usable.
//   5  After a channel was moved from, it may only be assigned to or destroyed.
#pragma once

#include <cstddef>
#include <stdexcept>

#include <weft/detail/channel_ends.hpp>
#include <weft/detail/export.hpp>
#include <weft/no_limit.hpp>

namespace weft {

/// Thrown by a send to a closed channel. See docs/guide/2-channels.md.
class WEFT_EXPORT channel_closed : public std::runtime_error {
public:
    channel_closed();
};

/// The capacity of a channel whose senders never wait; weft::no_limit is the same.
inline constexpr std::size_t unbounded = no_limit;

/// What a send does if the channel is full.
///
///     weft::channel<reading> last(1, {.when_full = weft::overflow::drop_oldest});
///
/// park:        it waits.
/// drop_oldest: it drops the oldest stored value. So a send never waits.
/// drop_newest: send() drops its value and returns; try_send() and send_for() tell.
/// fail:        send() throws std::system_error (no_buffer_space).
/// back_off:    send() waits as with park, but for 75 ms at most, and then throws as with fail.
///
/// A case on_send is ready when such a send would not wait; with back_off it waits as with park. If
/// that send drops its value, the callback of the case still runs, and a value given by
/// std::ref(value) is left as it is; if it fails, select() throws, also one with an `otherwise`.
/// What is dropped is destroyed by the sender, without any lock.
struct channel_options {
    weft::overflow when_full = overflow::park;
};

/// The sending side of a channel. The channel closes when the last of its senders is gone; one of
/// which no sender was made is closed by close() only.
///
///     weft::channel<int> numbers;
///     auto count = weft::spawn([out = numbers.tx()] { for (int i = 0; i < 9; ++i) out.send(i); });
///     for (int n : numbers.rx()) std::cout << n;  // ends: `out` has gone with its fiber's body
template <class T>
class sender : public detail::channel_handle<T>, public detail::send_operations<sender<T>, T> {
    using handle = detail::channel_handle<T>;

public:
    explicit sender(detail::channel_ref ref) noexcept : handle(std::move(ref)) { detail::add_sender(this->ref().core()); }
    sender(const sender& other) noexcept : handle(other), detail::send_operations<sender<T>, T>() {
        if (this->ref()) detail::add_sender(this->ref().core());
    }
    sender(sender&&) noexcept = default;
    sender& operator=(const sender& other) noexcept { return *this = sender(other); }
    sender& operator=(sender&& other) noexcept {
        if (this == &other) return *this;
        drop();
        handle::operator=(std::move(other));
        return *this;
    }
    ~sender() { drop(); }

private:
    void drop() noexcept {
        if (this->ref()) detail::drop_sender(this->ref().core());
    }
};

/// The receiving side of a channel, and a range of its values. weft::sender has an example. See
/// docs/guide/2-channels.md.
template <class T>
class receiver : public detail::channel_handle<T>, public detail::receive_operations<receiver<T>, T> {
public:
    explicit receiver(detail::channel_ref ref) noexcept : detail::channel_handle<T>(std::move(ref)) {}
};

/// Carries values from fibers and threads to fibers and threads. A handle: copies name the same
/// channel, which lives as long as one of them. Two handles are equal if they name the same
/// channel.
///
///     weft::channel<int> squares(16);  // up to 16 values wait in it
///     auto f = weft::spawn([=] { squares.send(4); squares.close(); });
///     for (int n : squares) std::cout << n;  // until it is closed and drained
///
/// send(), try_send(), receive(), try_receive(), close() and the other operations are declared in
/// weft/detail/channel_ends.hpp. See docs/guide/2-channels.md.
template <class T>
class channel : public detail::channel_handle<T>,
                public detail::send_operations<channel<T>, T>,
                public detail::receive_operations<channel<T>, T> {
    using element = detail::typed_element<T>;

public:
    /// With capacity 0 a send waits for its receiver; with `unbounded` it never waits. Any number
    /// is good: beyond 256 KiB only what is stored costs memory.
    explicit channel(std::size_t capacity = 0)
        : detail::channel_handle<T>(detail::channel_ref(detail::make_channel(element::operations, capacity))) {}
    /// \throws std::invalid_argument for drop_oldest with capacity 0, which has no oldest value.
    channel(std::size_t capacity, const channel_options& options)
        : detail::channel_handle<T>(detail::channel_ref(detail::make_channel(element::operations, capacity, options.when_full))) {
    }

    /// One-way views of this channel. The channel itself does not count as a sender.
    [[nodiscard]] sender<T> tx() const { return sender<T>(this->ref()); }
    [[nodiscard]] receiver<T> rx() const { return receiver<T>(this->ref()); }
};

}  // namespace weft

#include <weft/broadcast.hpp>  // one value to many: part of the same vocabulary

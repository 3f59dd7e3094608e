// broadcast.hpp - passes each value to all subscribers, to each at its own pace.
//
// Rules
//   1  A subscriber gets the values sent after it has subscribed; values of one sender come in the
//      order sent.
//   2  Each subscriber chooses, when it subscribes, what happens when its channel is full; the
//      choice concerns no other subscriber.
//   3  A subscriber whose last receiver is gone, or that has closed its receiver, is forgotten; a
//      sender that waits for it goes on.
//   4  T is copied once per subscriber, with no lock held.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include <weft/channel.hpp>
#include <weft/detail/annotated_locks.hpp>
#include <weft/overflow.hpp>

namespace weft {

namespace detail {

/// A channel that closes when its last receiver is gone.
template <class T>
class subscriber {
public:
    subscriber(std::size_t capacity, overflow how) : core_(make_channel(typed_element<T>::operations, capacity)), how_(how) {
        keep_channel(core_.core());
    }
    subscriber(const subscriber&) = delete;
    subscriber& operator=(const subscriber&) = delete;

    receiver<T> rx() const { return receiver<T>(core_); }
    bool is_gone() const noexcept { return channel_is_closed(core_.core()); }
    void close() const noexcept { channel_close(core_.core()); }

    /// \returns  false if there was no room and the sender must be told. \parks \throws cancelled
    bool push(const T& value) const {
        T copy(value);
        switch (how_) {
            case overflow::park: channel_send(core_.core(), &copy, never); return true;
            case overflow::drop_oldest: push_out(copy); return true;
            case overflow::drop_newest: channel_try_send(core_.core(), &copy); return true;
            case overflow::fail: return channel_try_send(core_.core(), &copy) != channel_op::full;
            case overflow::back_off: return channel_send(core_.core(), &copy, deadline_in(back_off_time)) != channel_op::timeout;
        }
        return true;
    }

    /// Sends a value and drops the oldest ones, so that at most `limit` values are stored
    /// afterwards. For an unbounded channel with one sender.
    void push_within(std::size_t limit, const T& value) const {
        while (channel_size(core_.core()) >= limit && drop_oldest()) {}
        T copy(value);
        channel_try_send(core_.core(), &copy);
    }

private:
    void push_out(T& value) const {
        while (channel_try_send(core_.core(), &value) == channel_op::full) drop_oldest();
    }
    bool drop_oldest() const {
        std::optional<T> oldest;
        return channel_try_receive(core_.core(), &oldest) == channel_op::done;
    }

    channel_ref core_;
    overflow how_;
};

}  // namespace detail

/// How many values are kept for a subscriber that lags behind, and what becomes of further ones.
///
///     auto last = news.subscribe({.capacity = 1, .overflow = weft::overflow::drop_oldest});
struct subscription {
    std::size_t capacity = 16;
    weft::overflow overflow = overflow::park;
};

/// Sends each value to all its subscribers. A handle: copies name the same broadcast. When the last
/// handle is gone, or after close(), the receivers end once they are drained.
///
///     weft::broadcast<std::string> news;
///     weft::receiver<std::string> all = news.subscribe();
///     news.send("rain");  // all.receive() returns it
///
/// See docs/guide/2-channels.md.
template <class T>
class broadcast {
    static_assert(std::copy_constructible<T>, "weft::broadcast: every subscriber gets a copy");

public:
    broadcast() : state_(std::make_shared<state>()) {}

    /// \returns  a receiver of all values sent from now on.
    /// \throws   std::invalid_argument for drop_oldest with capacity 0, which has no oldest value;
    ///           channel_closed.
    [[nodiscard]] receiver<T> subscribe(subscription how = {}) const {
        if (how.capacity == 0 && how.overflow == overflow::drop_oldest)
            throw std::invalid_argument("weft::broadcast: overflow::drop_oldest needs a capacity");
        auto member = std::make_shared<detail::subscriber<T>>(how.capacity, how.overflow);
        receiver<T> rx = member->rx();
        state_->add(std::move(member));
        return rx;
    }

    /// Sends a copy to each subscriber.
    ///
    /// \parks   for subscribers with overflow::park or back_off that have no room, one after
    ///          another.
    /// \throws  channel_closed; weft::cancelled, in which case some subscribers may have got the
    ///          value; std::system_error (no_buffer_space) after all others have got it, if a
    ///          subscriber with overflow::fail or back_off had no room; what T's copy throws.
    void send(const T& value) const {
        const auto members = state_->members();
        bool refused = false;
        for (const auto& s : *members) refused |= !s->push(value);
        if (refused) throw std::system_error(std::make_error_code(std::errc::no_buffer_space), "weft::broadcast: no room");
    }

    /// Ends the broadcast: later sends throw channel_closed. Idempotent.
    void close() const noexcept { state_->close(); }
    [[nodiscard]] bool closed() const noexcept { return state_->closed(); }
    /// \returns how many subscribers there are: a snapshot. 0 after close(); never throws.
    [[nodiscard]] std::size_t size() const noexcept { return state_->size(); }

private:
    using list = std::vector<std::shared_ptr<detail::subscriber<T>>>;

    // The list is copied when it changes, so that no lock is held while values are sent.
    class state {
    public:
        ~state() { close(); }

        void add(std::shared_ptr<detail::subscriber<T>> s) {
            // Destroyed after the lock: it may hold values of a subscriber that has left.
            std::shared_ptr<const list> old;
            const detail::lock_guard guard(lock_);
            if (closed_) detail::throw_channel_closed();
            auto next = std::make_shared<list>(living());
            next->push_back(std::move(s));
            old = std::exchange(members_, std::move(next));
        }
        std::shared_ptr<const list> members() {
            std::shared_ptr<const list> old;  // destroyed after the lock, as in add()
            const detail::lock_guard guard(lock_);
            if (closed_) detail::throw_channel_closed();
            for (const auto& s : *members_)
                if (s->is_gone()) {
                    old = std::exchange(members_, std::make_shared<list>(living()));
                    break;
                }
            return members_;
        }
        void close() noexcept {
            std::shared_ptr<const list> last;
            {
                const detail::lock_guard guard(lock_);
                closed_ = true;
                last = std::exchange(members_, std::make_shared<list>());
            }
            for (const auto& s : *last) s->close();
        }
        bool closed() {
            const detail::lock_guard guard(lock_);
            return closed_;
        }
        std::size_t size() noexcept {
            const detail::lock_guard guard(lock_);
            return static_cast<std::size_t>(std::ranges::count_if(*members_, [](const auto& s) { return !s->is_gone(); }));
        }

    private:
        list living() const WEFT_REQUIRES(lock_) {
            list all;
            for (const auto& s : *members_)
                if (!s->is_gone()) all.push_back(s);
            return all;
        }

        detail::thread_mutex lock_;
        bool closed_ WEFT_GUARDED_BY(lock_) = false;
        std::shared_ptr<const list> members_ WEFT_GUARDED_BY(lock_) = std::make_shared<list>();
    };

    std::shared_ptr<state> state_;
};

}  // namespace weft

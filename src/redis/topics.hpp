// topics.hpp - the channels and patterns that a client listens to, and what the server knows of them.
//
//  state      meaning                            leaves by
//  wanted     the server has not been asked      take() -> asked
//  asked      SUBSCRIBE was sent                 accept() -> confirmed, or the topic is gone
//  confirmed  messages come                      take() sends UNSUBSCRIBE, and the topic is gone
//
// lost() takes a topic whose receivers have been told that they are subscribed back to `wanted`. The
// others fail, since their callers still wait for subscribe().
//
// Invariants
//   TOPICS-1  expected_ has one entry per command that was sent and not answered, in order. Servers
//             answer in order, so any other answer ends the connection.
//   TOPICS-2  UNSUBSCRIBE is sent for confirmed topics only. So a confirmation always belongs to
//             the topic of that name that is in the map.
//   TOPICS-3  Nothing is sent into a channel under lock_, because that may park.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <weft/broadcast.hpp>
#include <weft/detail/annotated_locks.hpp>
#include <weft/event.hpp>
#include <weft/mutex.hpp>
#include <weft/redis/error.hpp>
#include <weft/redis/message.hpp>
#include <weft/redis/value.hpp>

namespace weft::detail::redis {

struct topic_name {
    enum class kind : std::uint8_t { channel, pattern };

    kind what;
    std::string text;

    friend auto operator<=>(const topic_name&, const topic_name&) = default;
};

/// One receiver.
class topic_member {
public:
    explicit topic_member(weft::subscription how) : queue_(how.capacity, how.overflow) {}
    // The channel's keeper passes its lock before it goes (CHANNEL_CORE-7).
    ~topic_member() { queue_.close(); }
    topic_member(const topic_member&) = delete;
    topic_member& operator=(const topic_member&) = delete;

    receiver<weft::redis::message> rx() const { return queue_.rx(); }
    bool is_gone() const noexcept { return queue_.is_gone(); }
    /// A receiver for which there is no room, and whose sender must be told, ends. \parks \throws
    /// cancelled
    void push(const weft::redis::message& m) const {
        if (!queue_.push(m)) queue_.close();
    }

    /// For the caller of subscribe(): waits until the topic is confirmed.
    /// \parks \throws  cancelled; redis::error
    void await_confirmed() const;

    // Called under the lock of the topics.
    void confirm() noexcept;
    void fail(weft::redis::error_kind kind, const std::string& reason);
    bool confirmed() const noexcept { return confirmed_; }

private:
    subscriber<weft::redis::message> queue_;
    bool confirmed_ = false;
    // Set before settled_. Not an exception: copies of one share a text that the standard library
    // counts where ThreadSanitizer does not see it.
    std::optional<std::pair<weft::redis::error_kind, std::string>> failure_;
    event settled_;
};

class topics {
public:
    /// At most `max_waiting` topics that the server has not confirmed.
    explicit topics(std::size_t max_waiting) noexcept : max_waiting_(max_waiting) {}

    // For callers.

    /// \parks   until the server has confirmed the subscription.
    /// \throws  redis::error; cancelled; std::invalid_argument
    receiver<weft::redis::message> join(topic_name::kind, std::string_view name, weft::subscription);

    // For the fibers of the connection.

    /// \parks  until there is a topic, and the pause after the last failure is over.
    void wait_wanted();
    /// \parks  until a topic may be wanted, for `limit` at most.
    void wait_changed(std::chrono::nanoseconds limit) { static_cast<void>(changed_.wait_for(limit)); }
    /// Appends what the server must be told. \returns false if there is no topic any more.
    bool take(std::string& bytes);
    /// Appends a PING, to see whether the server still answers.
    void ping(std::string& bytes);

    /// A message, and those who get it.
    struct delivery {
        weft::redis::message what;
        std::vector<std::shared_ptr<topic_member>> to;
    };
    /// Takes one reply.
    /// \returns  what must be delivered, to nobody if the reply was no message.
    /// \throws   std::runtime_error for a reply that ends the connection.
    delivery accept(weft::redis::value reply);

    /// The connection is lost, or could not be made. No new attempt before `retry_at`.
    void lost(const std::string& reason, time_point retry_at);
    /// The connection was closed, since take() found no topic. Topics that have come since then
    /// wait for the next one.
    void rest();
    /// Ends all receivers, now and from now on.
    void close(const std::string& reason);

private:
    enum class state : std::uint8_t { wanted, asked, confirmed };
    struct topic {
        state progress = state::wanted;
        std::vector<std::shared_ptr<topic_member>> members;
    };
    enum class command : std::uint8_t { subscribe, unsubscribe, ping };
    struct question {
        command what;
        topic_name about;
    };
    using parts = std::vector<weft::redis::value>;

    void forget_gone() WEFT_REQUIRES(lock_);
    void check_room_for(const topic_name&) const WEFT_REQUIRES(lock_);
    void confirm(const topic_name&) WEFT_REQUIRES(lock_);
    void refused(const topic_name&, const std::string& reason) WEFT_REQUIRES(lock_);
    void answered(const std::string& kind, const std::string& name) WEFT_REQUIRES(lock_);
    delivery to_members(topic_name::kind what, weft::redis::message) WEFT_REQUIRES(lock_);
    question next_question() WEFT_REQUIRES(lock_);

    const std::size_t max_waiting_;
    mutex lock_;
    event changed_{event::automatic};
    std::map<topic_name, topic> topics_ WEFT_GUARDED_BY(lock_);
    std::deque<question> expected_ WEFT_GUARDED_BY(lock_);
    std::string reason_ WEFT_GUARDED_BY(lock_);  // of the last loss
    time_point retry_at_ WEFT_GUARDED_BY(lock_){};
    bool closed_ WEFT_GUARDED_BY(lock_) = false;
};

}  // namespace weft::detail::redis

// transport.hpp - how nodes exchange messages: by subjects, each message at most once.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::cluster {

/// A message as a transport delivers it.
struct carried {
    std::string subject;
    std::string reply;  ///< the subject of the sender for an answer; may be empty
    std::vector<std::byte> payload;
    /// No node has subscribed to the subject of a message that was sent with `reply`. `subject` is that
    /// reply, and there is no payload.
    bool no_responders = false;
};

/// What one subscription has received. One fiber may use it at a time, except for close().
class WEFT_EXPORT inbox {
public:
    virtual ~inbox() = default;
    /// Waits for the next message.
    /// \returns false once it was closed. \parks until there is a message \throws weft::cancelled
    virtual bool receive(carried& into) = 0;
    virtual void close() noexcept = 0;
};

/// Carries messages between nodes: NATS, or a simulated one (simulated_transport.hpp). Messages may be lost.
/// Those of one sender to one subject arrive in the order sent. Subjects are words with dots between them; in
/// a subscription `*` stands for one word and `>`, as the last word, for the rest. All fibers may use it at
/// once.
class WEFT_EXPORT transport {
public:
    virtual ~transport() = default;
    /// Sends a message to all subscriptions of the subject, and to one of each queue.
    /// \parks   while too much is under way.
    /// \throws  std::system_error if the message cannot be sent; weft::cancelled.
    virtual void publish(std::string_view subject, std::string_view reply, std::span<const std::byte> payload) = 0;
    /// \param queue  subscriptions of one queue share the messages; empty: this one gets all.
    virtual std::unique_ptr<inbox> subscribe(std::string_view subject, std::string_view queue) = 0;
    /// The most bytes of a payload.
    [[nodiscard]] virtual std::size_t max_payload() const noexcept = 0;
};

}  // namespace weft::cluster

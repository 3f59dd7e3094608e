// subscriber.hpp - one subscription: its bounded channel, and what it has lost.
//
// A message stays where it was made until a receiver has it. The channel carries one token for each,
// so that a message is moved once, and no memory is taken in the channel for it.
//
// Invariants
//   NATS_SUBSCRIBER-1  The channel stores as many tokens as messages of the list wait, but for the last
//                      `unannounced_` of them, whose tokens are sent together. A token is
//                      delivered as the first of them, which is then moved: one after another, since
//                      the link sends under its lock and never waits (CHANNEL_CORE-10).
//   NATS_SUBSCRIBER-2  The link takes messages from the front of the list, when the channel's size
//                      has shown that they were taken, and leaves the one that was taken last: the
//                      next delivery begins there.
//   NATS_SUBSCRIBER-3  The list belongs to the channel and ends with it: a receiver may outlive the
//                      subscription and the client.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include <weft/channel.hpp>
#include <weft/nats/client.hpp>

#include "nats/codec.hpp"

namespace weft::detail::nats {

/// A message of a subscription, or the place of one.
struct kept_message {
    std::optional<weft::nats::message> what;
    std::size_t bytes = 0;  // of its payload
};

/// Everything but `messages` is guarded by the lock of the link.
class subscriber {
public:
    /// `spares` are places that no message needs; the subscriptions of a link share them.
    subscriber(std::uint64_t id, std::string about, const weft::nats::subscribe_options& how, std::list<kept_message>& spares);

    /// Never waits. The receiver may learn of the message by announce() only.
    /// \returns  whether an episode of losing messages begins with this one.
    bool deliver(const arrival&);
    /// Called after the last of several deliver().
    void announce();

    const std::uint64_t sid;
    const std::string subject;
    const weft::nats::subscribe_options options;
    const receiver<weft::nats::message> messages;
    std::uint64_t lost = 0;
    bool leaves = false;  // it is drained, and not subscribed to again

private:
    struct message_list;

    subscriber(std::uint64_t id, std::string about, const weft::nats::subscribe_options& how, std::list<kept_message>& spares,
               std::unique_ptr<message_list>);
    void forget_taken();
    bool is_full(std::size_t next);

    message_list& list_;  // NATS_SUBSCRIBER-3
    std::list<kept_message>& spares_;
    std::size_t waiting_ = 0;  // as far as is known: some may have been taken since
    std::size_t bytes_ = 0;    // of their payloads
    std::size_t unannounced_ = 0;
    std::size_t ask_at_;       // how many may seem to wait before it is asked which were taken
    bool slow_ = false;
};

}  // namespace weft::detail::nats

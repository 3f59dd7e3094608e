// subscriber.hpp - one subscription: its bounded channel, and what it has lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

#include <weft/channel.hpp>
#include <weft/nats/client.hpp>

namespace weft::detail::nats {

/// Everything but `messages` is guarded by the lock of the link.
struct subscriber {
    subscriber(std::uint64_t id, std::string about, const weft::nats::subscribe_options& how);

    /// Never waits. \returns  whether an episode of losing messages begins with this one.
    bool deliver(weft::nats::message&&);

    const std::uint64_t sid;
    const std::string subject;
    const weft::nats::subscribe_options options;
    const channel<weft::nats::message> messages;
    std::uint64_t lost = 0;
    bool leaves = false;  // it is drained, and not subscribed to again

private:
    void forget_taken();
    bool is_full(std::size_t next);

    // The sizes of the messages that wait, and perhaps of some before them that were taken since.
    std::deque<std::size_t> sizes_;
    std::size_t bytes_ = 0;  // their sum
    bool slow_ = false;
};

}  // namespace weft::detail::nats

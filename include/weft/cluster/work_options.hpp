// work_options.hpp - what may be chosen of a work queue.
#pragma once

#include <weft/detail/requirements.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <weft/no_limit.hpp>
#include <weft/overflow.hpp>

namespace weft::cluster {

/// How a work queue behaves. max_messages, max_bytes, ack_wait and duplicate_window are the store's, so they
/// should be alike wherever the queue is opened: the last one decides. The others count where they are given.
struct work_options {
    std::uint64_t max_messages = no_limit;  ///< those under way count, too
    std::uint64_t max_bytes = no_limit;
    /// What send() does when the queue is full: park, fail, drop_newest or back_off. drop_oldest is refused:
    /// what was stored is lost by nobody's choice.
    overflow when_full = overflow::park;
    /// A message is delivered again if nothing is heard of its receiver for so long; at least 100 ms.
    /// While its delivery lives, its receiver says so every third of that. It can be made longer; a shorter one
    /// than the queue has is refused, since receivers that have it open would be too late.
    std::chrono::nanoseconds ack_wait = std::chrono::seconds(30);
    /// For how long the store knows the ids of messages. It is longer than give_up, within which send() repeats,
    /// and than ack_wait, after which a message comes again whose dead letter was stored.
    std::chrono::nanoseconds duplicate_window = std::chrono::minutes(2);
    /// A message that was delivered so many times, and never acknowledged, is a dead letter when it comes
    /// again; at least 1. The store counts, also what was pulled ahead by a receiver that ended before it
    /// handed it out.
    std::uint64_t max_deliver = 5;
    /// How long a message waits that is given back: the first time, the second time, and so on; the last
    /// one counts from there on. Empty: it does not wait.
    std::vector<std::chrono::nanoseconds> backoff = {std::chrono::seconds(1), std::chrono::seconds(5), std::chrono::seconds(30)};
    /// For how long send() repeats what the store does not answer.
    std::chrono::nanoseconds give_up = std::chrono::seconds(30);
    /// In which version messages are written, so that receivers of an earlier release can read them; 0: the
    /// newest.
    std::uint32_t version = 0;
};

struct work_send_options {
    /// A second message with it within work_options::duplicate_window is not stored. Empty: one that nobody
    /// else has.
    std::string id = {};
};

/// What became of a message.
enum class sent {
    stored,
    duplicate,  ///< one with its id was stored before
    dropped,    ///< the queue was full, with overflow::drop_newest, and the message is not stored
};

}  // namespace weft::cluster

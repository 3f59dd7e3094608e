// batch.hpp - the bytes of what two nodes send each other.
//
//  batch  = version(1) kind(1) incarnation of the sender(8) its half of the epoch(8) the receiver's half(8),
//           then by kind
//  hello    credit(4), then for each message that the sender reads: number(8) newest(4) oldest(4)
//  frames   number of the first(8), then frames: kind(1) body with its length in front(4 + n)
//  beat     sent(8) seen(8) what the last beat of the other node has named as sent(8) wants a beat(1)
//  reset    -
//  goodbye  -: the node ends
//
// Frames
//  send       serial(8) token of the name by which the actor was found, or 0(8) message(8) version(4)
//             payload(rest)
//  ask        id(8) limit in ns(8), then as send
//  answer     id(8) version(4) payload(rest)
//  failure    id(8) errc(1) exit_kind(1) text
//  monitor    serial(8)
//  down       serial(8) exit_kind(1) text
//  credit     serial(8) messages(4)
//  disowned   token(8): a message that was sent to that name's actor was refused
//  link       id(8) serial(8) name of the sender's actor
//  link_end   id(8) whether the receiver has made the link(1) exit_kind(1) errc, if it has failed(1) text
#pragma once

#include <cstdint>

#include "cluster/bytes.hpp"
#include "cluster/epoch.hpp"

namespace weft::cluster::detail {

constexpr std::uint8_t batch_version = 1;
constexpr std::size_t longest_text = 4096;  // chosen: of what a handler threw, or why an actor has ended
enum class batch_kind : std::uint8_t { hello = 1, frames, beat, reset, goodbye };
enum class frame_kind : std::uint8_t { send = 1, ask, answer, failure, monitor, down, credit, link, link_end, disowned };
/// In a failure: the actor has ended, for the reason that follows.
constexpr std::uint8_t actor_has_ended = 255;

struct batch_head {
    batch_kind kind;
    std::uint64_t incarnation;
    epoch_halves halves;
};

inline byte_vector begin_batch(const batch_head& h) {
    byte_vector b;
    b.reserve(256);
    put(b, batch_version);
    put(b, static_cast<std::uint8_t>(h.kind));
    put(b, h.incarnation);
    put(b, h.halves.mine);
    put(b, h.halves.yours);
    return b;
}

/// \returns whether these are the first bytes of a batch
inline bool read_head(byte_reader& in, batch_head& h) noexcept {
    const auto version = in.number<std::uint8_t>();
    const auto kind = in.number<std::uint8_t>();
    h.kind = static_cast<batch_kind>(kind);
    h.incarnation = in.number<std::uint64_t>();
    h.halves.mine = in.number<std::uint64_t>();
    h.halves.yours = in.number<std::uint64_t>();
    return !in.failed() && version == batch_version && kind >= 1 && kind <= static_cast<std::uint8_t>(batch_kind::goodbye) &&
           h.halves.mine != 0;
}

}  // namespace weft::cluster::detail

// handshake_turn.hpp - keeps handshakes, which compute for long, from holding up everything else.
//
// A step of a handshake computes for up to a millisecond. If a thousand clients come at once, their fibers would
// stand in a worker's run queue one behind the other, and what becomes ready meanwhile behind all of them. So
// only a few of them at a time stand there: the others park until it is their turn.
#pragma once

namespace weft::detail {

/// The right to compute one step. The step must not park.
class handshake_turn {
public:
    /// \parks   until it is the caller's turn. \throws weft::cancelled
    handshake_turn();
    handshake_turn(const handshake_turn&) = delete;
    handshake_turn& operator=(const handshake_turn&) = delete;
    ~handshake_turn();
};

}  // namespace weft::detail

// epoch.hpp - the time in which two nodes lose no message of each other; pure logic, without a lock, a clock
// or a transport.
//
// Nothing is transmitted again. Numbers detect that a message was lost or came out of order, and that ends
// the epoch: those that wait on the other node are told, and the next message begins a new epoch. So
// references stay good, as Erlang's process identifiers do. Each side names its own half of an epoch by a
// number that grows over all epochs of its incarnation.
//
//  phase    means                                  leaves by
//  idle     no contact                             begin -> opening | a first hello -> open
//  opening  a hello was sent; the other half is    a hello that names my half -> open | give up -> idle
//           not known
//  open     both halves are known; frames count    see EPOCH-3 -> idle
//
// Invariants
//   EPOCH-1  A numbered frame is accepted only in its own epoch (both halves are equal) and in its place (its
//            number is seen + 1).
//   EPOCH-2  If a frame of an epoch was lost, no later frame of that epoch is accepted.
//   EPOCH-3  An open epoch ends by: a number too high; a beat that names more frames than were seen; a hello
//            with a later half of the other node; a reset that names both halves; a decision of this node,
//            such as after a goodbye. Once ended it never opens again.
//   EPOCH-4  If one side has ended an epoch, and the other sends in it, the other is told by a reset.
#pragma once

#include <cstdint>

namespace weft::cluster::detail {

/// The numbers that name an epoch, as the sender of a message sees them; zero: not known.
struct epoch_halves {
    std::uint64_t mine = 0, yours = 0;
    friend bool operator==(const epoch_halves&, const epoch_halves&) noexcept = default;
};

class epoch {
public:
    enum class phase : std::uint8_t { idle, opening, open };
    /// What a message makes its receiver do, in this order.
    struct step {
        bool has_ended = false;  // the epoch has ended; those that wait are to be told
        bool accepted = false;  // the message counts
        bool says_hello = false;  // answer by a hello
        bool says_reset = false;  // answer by a reset that repeats the halves of the message
        const char* why = nullptr;  // if it has ended
    };

    phase now() const noexcept { return phase_; }
    /// The halves to put into messages.
    epoch_halves halves() const noexcept { return halves_; }
    std::uint64_t sent() const noexcept { return sent_; }
    std::uint64_t seen() const noexcept { return seen_; }
    std::uint64_t confirmed() const noexcept { return confirmed_; }

    /// idle -> opening. `fresh` is larger than all halves of this node before.
    void begin(std::uint64_t fresh) noexcept { start(phase::opening, {.mine = fresh, .yours = 0}); }
    /// Any phase -> idle.
    void end() noexcept { start(phase::idle, {}); }
    /// \returns the number of the next frame, which the caller sends.
    std::uint64_t number() noexcept { return ++sent_; }

    // Messages; `their` are the halves as the other node sees them.
    step on_hello(epoch_halves their, std::uint64_t fresh) noexcept;
    /// \param accepts_gaps  a planted bug, for tests: EPOCH-2 is broken
    step on_frame(epoch_halves their, std::uint64_t number, bool accepts_gaps = false) noexcept;
    step on_beat(epoch_halves their, std::uint64_t sent, std::uint64_t seen) noexcept;
    step on_reset(epoch_halves their) noexcept;

private:
    void start(phase p, epoch_halves h) noexcept {
        phase_ = p;
        halves_ = h;
        sent_ = seen_ = confirmed_ = 0;
    }
    bool is_of(epoch_halves their) const noexcept {
        return phase_ == phase::open && their == epoch_halves{.mine = halves_.yours, .yours = halves_.mine};
    }
    /// What a message of another epoch than this one makes its receiver do. While a hello is under way the
    /// answer may have been lost; it will come again, since the hello is repeated.
    step of_another(epoch_halves their) const noexcept {
        return {.says_reset = phase_ != phase::opening || their.yours != halves_.mine};
    }
    step ended(const char* why) noexcept {
        end();
        return {.has_ended = true, .says_reset = true, .why = why};
    }

    phase phase_ = phase::idle;
    epoch_halves halves_;
    std::uint64_t sent_ = 0, seen_ = 0, confirmed_ = 0;
};

}  // namespace weft::cluster::detail

// mailbox.hpp - the messages of one actor, the senders that wait for room, and the waiting actor.
//
//  doors   a send        the actor gets            leaves by
//  open    is accepted   what is stored, or waits  close -> closed
//  closed  is refused    what is stored, then null begin_life -> open | seal -> sealed
//  sealed  is refused    (it has ended)            -
// While `leaving`, the actor gets null whatever is stored; the stored messages are for its next
// life.
//
// Invariants
//   MAILBOX-1  A message belongs to its sender, to the queue, or to its actor. The message of an
//              entry in senders_ belongs to its sender.
//   MAILBOX-2  size_ + reserved_ <= capacity_, except for messages that are forced in, and for the
//              one at cursor_, which is not displaced.
//   MAILBOX-3  A sender that can be claimed waits only while there is no room and the doors are
//              open.
//   MAILBOX-4  The actor waits only while the queue is empty, or, if it looks for certain messages,
//              while there is nothing after cursor_.
//   MAILBOX-5  A message's asker is claimed, or removed from the message, under the lock, and is
//              not touched after it was woken. An asker that gives up removes itself from the
//              message under the lock, and takes the message back if it still owns it.
//   MAILBOX-6  Messages are destroyed, and their values are looked at, without the lock.
#pragma once

#include <cstddef>
#include <memory>

#include <weft/detail/actor_core.hpp>

#include "base/hot_lock.hpp"
#include "sched/wait/wait.hpp"

namespace weft::detail {

/// The actor will be answered; from now on the actor that answers may ask it.
void asks_no_longer(actor_core& who) noexcept;

/// How an ask ended.
enum class ask_end : std::uint8_t { answered, gone, no_room, not_answered };

/// The registration of a sender or an asker, in its frame.
struct asker : waiter {
    asker(wait& w, message& brings, answer_place* where) noexcept : waiter(w.cell(), w.ticket()), mine(&brings), place(where) {}

    // MAILBOX-5: the message it brings, or the one that refers to it; null once it was claimed for
    // an answer.
    message* mine;
    // Null for a sender, which waits only for room.
    answer_place* const place;
    bool accepted = false;  // the message belongs to the mailbox
    ask_end how = ask_end::gone;
};

class mailbox_core {
public:
    enum class posted : std::uint8_t { accepted, dropped, full, closed };
    enum class asked : std::uint8_t { answered, gone, no_room, not_answered, timed_out, dropped, full, closed };

    mailbox_core(std::size_t capacity, weft::overflow);
    mailbox_core(const mailbox_core&) = delete;
    mailbox_core& operator=(const mailbox_core&) = delete;

    // For senders. `m` is released if the message was accepted.
    /// \parks with overflow::park, while there is no room \throws cancelled
    posted post(std::unique_ptr<message>& m);
    /// Posts a message and waits for its answer. The message may be accepted even if the ask has
    /// timed out. \parks until answered \throws cancelled
    asked ask(std::unique_ptr<message>& m, answer_place&, time_point until);
    /// \returns  whether there is room now; it is then reserved.
    bool reserve() noexcept;
    void unreserve() noexcept;
    /// \returns  false if the actor has ended.
    bool post_reserved(std::unique_ptr<message>& m) noexcept;
    bool waits_for_room() const noexcept { return overflow_ == weft::overflow::park; }
    /// Stores the message whether there is room or not. \returns false if the actor has ended.
    bool force(std::unique_ptr<message> m) noexcept;

    // For the actor.
    /// If there is none, `why` becomes timeout, empty (if until == long_past) or closed: none will
    /// come any more.
    /// \parks while there is none \throws cancelled
    std::unique_ptr<message> next(time_point until, channel_op& why);
    std::unique_ptr<message> next(time_point until) {
        auto why = channel_op::done;
        return next(until, why);
    }
    std::unique_ptr<message> next_if(time_point until, bool (*wanted)(void*, message&), void* context, channel_op& why);
    /// Claims the asker of `m`; null if none waits (any more).
    asker* claim_asker(message& m) noexcept;
    /// Whether an asker waits for an answer of that type: a hint.
    bool asker_expects(const message& m, const std::type_info& type) noexcept;
    /// \returns  whether an asker was waiting for the answer, and was told.
    bool refuse(message& m, ask_end how) noexcept;

    // For the life of the mailbox.
    void begin_life() noexcept;
    void close() noexcept;
    enum class and_then : bool { stay_open, close };
    void leave(and_then) noexcept;
    bool is_leaving() noexcept;
    bool is_open() noexcept;
    std::size_t size() noexcept;
    /// Closes it for ever. Waiting senders and askers are refused; stored messages are passed to
    /// lost().
    void seal() noexcept;

protected:
    ~mailbox_core() = default;

private:
    enum class doors : std::uint8_t { open, closed, sealed };

    /// An accepted message will not be handled, for lack of room or because the actor has ended.
    /// Called without the lock.
    virtual void lost(std::unique_ptr<message>, ask_end why) noexcept = 0;
    /// Whether the calling fiber is the actor's.
    virtual bool is_caller() const noexcept = 0;

    struct receiving : waiter {
        receiving(wait& w, bool takes_any) noexcept : waiter(w.cell(), w.ticket()), any(takes_any) {}
        const bool any;
        message* got = nullptr;
    };
    class looking;

    bool has_room() const noexcept WEFT_REQUIRES(lock_) { return size_ + reserved_ < capacity_; }
    // Whether no message will come any more that is not stored already.
    bool is_shut() const noexcept WEFT_REQUIRES(lock_) { return doors_ != doors::open && reserved_ == 0; }
    channel_op why_none() const noexcept WEFT_REQUIRES(lock_) {
        return leaving_ || is_shut() ? channel_op::closed : channel_op::empty;
    }
    void append(message& m) noexcept WEFT_REQUIRES(lock_);
    void unlink(message& m) noexcept WEFT_REQUIRES(lock_);
    message* displace_oldest() noexcept WEFT_REQUIRES(lock_);
    receiving* claim_receiver(message* hand_over) noexcept WEFT_REQUIRES(lock_);
    bool lock_with_room() noexcept WEFT_ACQUIRE(lock_);
    void accept(message& m) noexcept WEFT_RELEASE(lock_);
    [[gnu::noinline]] posted post_otherwise(std::unique_ptr<message>& m, wait_cell& caller);
    bool may_wait() const noexcept { return waits_for_room() && !is_caller(); }
    void admit_senders(wait_list& claimed) noexcept WEFT_REQUIRES(lock_);
    [[nodiscard]] wait_end park_as_receiver(wait_cell& caller, bool any, time_point until, message*& got) WEFT_RELEASE(lock_);

    hot_lock lock_;
    doors doors_ WEFT_GUARDED_BY(lock_) = doors::open;
    bool leaving_ WEFT_GUARDED_BY(lock_) = false;
    const weft::overflow overflow_;
    receiving* receiver_ WEFT_GUARDED_BY(lock_) = nullptr;
    const std::size_t capacity_;
    std::size_t size_ WEFT_GUARDED_BY(lock_) = 0;
    std::size_t reserved_ WEFT_GUARDED_BY(lock_) = 0;
    message* oldest_ WEFT_GUARDED_BY(lock_) = nullptr;
    message* newest_ WEFT_GUARDED_BY(lock_) = nullptr;
    // the last message that a selective receive has looked at
    message* cursor_ WEFT_GUARDED_BY(lock_) = nullptr;
    wait_list senders_ WEFT_GUARDED_BY(lock_);
};

}  // namespace weft::detail

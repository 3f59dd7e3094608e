// command_queue.hpp - passes commands from callers to a connection's fibers, and replies back.
//
//  state    meaning                    a new command                    leaves by
//  idle     no connection              fails until retry_at_, then      call() -> opening
//                                      is queued
//  opening  connecting                 is queued                        opened() -> open
//                                                                       | lost() -> idle
//  open     commands and replies flow  is queued, the writer is woken   lost() -> idle
//  closed   the client has ended       fails                            -
//
// Invariants
//   COMMAND_QUEUE-1  From call() until it is finished, a slot is in exactly one queue, in the order
//                    of appending: in `queued_` before the writer takes it, in `taken_` while the
//                    writer formats its bytes, in `sent_` after that. Replies answer `sent_` in
//                    order.
//   COMMAND_QUEUE-2  A slot in a queue belongs to the queue. A finished slot belongs to its caller.
//                    If the caller has left, the code that takes the slot out of the queue frees
//                    it. So the reply of a cancelled caller is still consumed.
//   COMMAND_QUEUE-3  A slot has its place in `sent_` before its first byte is written.
//   COMMAND_QUEUE-4  Everything except `taken_` is guarded by lock_. `taken_` belongs to the
//                    writer; once the writer has ended, to lost().
//   COMMAND_QUEUE-5  A caller that was woken touches only its slot. A caller that was interrupted
//                    takes lock_ once more, so `leaving_` counts those of them whose slot is no
//                    longer in a queue, and the destructor waits for them. It does not count
//                    the others: close(), which comes before the destructor, finishes every slot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <weft/detail/annotated_locks.hpp>
#include <weft/redis/value.hpp>

#include "base/spin_lock.hpp"
#include "fiber/waiter.hpp"

namespace weft::detail::redis {

/// One call: its commands, and room for their replies.
struct slot {
    slot(std::string bytes, std::size_t replies_expected) : commands(std::move(bytes)), expected(replies_expected) {
        // Delivery runs under a lock, where nothing is allocated.
        replies.reserve(expected);
    }

    enum class state : std::uint8_t { waiting, finished, abandoned };

    /// Whether the server may still be in a transaction once all replies are there.
    bool leaves_transaction() const noexcept;

    std::string commands;  // empty once the writer has taken them, or the caller has left before
    const std::size_t expected;
    bool is_taken = false;  // by the writer
    bool is_transaction = false;  // the commands are those of a redis::transaction
    std::vector<weft::redis::value> replies;
    std::shared_ptr<const std::string> failure;  // why the replies will not come
    waiter* caller = nullptr;
    slot* next = nullptr;
    state progress = state::waiting;
};

/// A queue that owns its slots, in order of arrival.
class slot_queue {
public:
    slot_queue() noexcept = default;
    slot_queue(slot_queue&& other) noexcept;
    slot_queue& operator=(slot_queue&&) = delete;
    ~slot_queue();

    slot* front() const noexcept { return head_; }
    void push(std::unique_ptr<slot>) noexcept;
    std::unique_ptr<slot> pop() noexcept;
    /// Takes all slots of `other` and appends them.
    void append(slot_queue& other) noexcept;

private:
    slot* head_ = nullptr;
    slot* tail_ = nullptr;
};

class command_queue {
public:
    /// At most `max_waiting` commands wait for replies at any time.
    explicit command_queue(std::size_t max_waiting) : max_waiting_(max_waiting) {}
    /// After close(), and after the fibers of the connection.
    /// \parks  until the callers that were interrupted have left (COMMAND_QUEUE-5), shielded.
    ~command_queue();
    command_queue(const command_queue&) = delete;
    command_queue& operator=(const command_queue&) = delete;

    // For callers.

    /// Queues the commands and waits for their replies.
    /// \parks   until all replies are there.
    /// \throws  redis::error; cancelled.
    std::vector<weft::redis::value> call(std::unique_ptr<slot>);

    // For the connection's fibers.

    /// \parks  until a command needs a connection. The state is then `opening`.
    void wait_wanted();
    void opened();
    /// The connection is lost, or could not be made: fails every slot. No new attempt before
    /// `retry_at`. The writer must have ended.
    void lost(const std::string& reason, time_point retry_at);
    /// Fails every slot, now and from now on.
    void close(const std::string& reason);

    /// \parks  until there is something to write.
    void wait_queued();
    /// Appends the bytes of all queued commands to `bytes`, except those whose callers have left.
    void take(std::string& bytes);
    /// Data has arrived. Moves the replies in it, possibly none, to their callers.
    /// \returns  why the connection must end; empty if all is well.
    std::string deliver(std::vector<weft::redis::value>& replies);

    /// The progress of the conversation, for periodic checks.
    struct progress {
        bool reply_due;  // a command was sent and not answered yet
        std::uint64_t arrivals;  // how often data has arrived
    };
    progress look() noexcept;

private:
    enum class state : std::uint8_t { idle, opening, open, closed };
    class finished_slots;

    void wait_in(wait_list& list, const wait_kind&) WEFT_RELEASE(lock_);
    std::shared_ptr<const std::string> refusal_now() const WEFT_REQUIRES(lock_);
    void fail_all(state next, const std::shared_ptr<const std::string>& reason, time_point retry_at);

    const std::size_t max_waiting_;
    spin_lock lock_;
    state state_ WEFT_GUARDED_BY(lock_) = state::idle;
    time_point retry_at_ WEFT_GUARDED_BY(lock_){};
    std::shared_ptr<const std::string> reason_ WEFT_GUARDED_BY(lock_);  // of the last loss
    std::size_t waiting_ WEFT_GUARDED_BY(lock_) = 0;  // commands in the queues
    std::uint64_t arrivals_ WEFT_GUARDED_BY(lock_) = 0;
    slot_queue queued_ WEFT_GUARDED_BY(lock_);
    slot_queue taken_;  // COMMAND_QUEUE-4
    slot_queue sent_ WEFT_GUARDED_BY(lock_);
    wait_list opener_ WEFT_GUARDED_BY(lock_);
    wait_list writer_ WEFT_GUARDED_BY(lock_);
    std::size_t leaving_ WEFT_GUARDED_BY(lock_) = 0;  // COMMAND_QUEUE-5
    wait_list destructor_ WEFT_GUARDED_BY(lock_);
};

}  // namespace weft::detail::redis

// command_queue.hpp - where callers leave commands and the fibers of one connection pick them up and bring the replies.
//
//  state     meaning                          a new command                            leaves by
//  idle      no connection                    fails until retry_at_, then is queued    call() -> opening
//  opening   the connection is being made     is queued                                opened() -> open | lost() -> idle
//  open      commands and replies flow        is queued, the writer is woken           lost() -> idle
//  closed    the client has ended             fails                                    -
//
// Invariants
//   P1  From call() until it is finished a slot lies in exactly one queue, in the order of appending: `queued_` before the
//       writer takes it, `taken_` while the writer spells its bytes, `sent_` after. Replies answer `sent_` in order.
//   P2  A slot in a queue belongs to the queue. Finished, it belongs to its caller; if the caller has left, to nobody, and
//       whoever takes it out frees it. So a cancelled caller's reply is still consumed.
//   P3  A slot has its place in `sent_` before its first byte is written.
//   P4  Everything but `taken_` is under lock_. `taken_` is the writer's; when the writer has ended, that of lost().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <weft/redis/value.hpp>

#include "base/spin_lock.hpp"
#include "fiber/waiter.hpp"

namespace weft::detail::redis {

/// One call: its commands, and room for their replies.
struct slot {
    slot(std::string bytes, std::size_t replies_expected) : commands(std::move(bytes)), expected(replies_expected) {
        replies.reserve(expected);  // delivery runs under a lock, where nothing is allocated
    }

    enum class state : std::uint8_t { waiting, finished, abandoned };

    const std::string commands;
    const std::size_t expected;
    std::vector<weft::redis::value> replies;
    std::shared_ptr<const std::string> failure;  // why the replies will not come
    waiter* caller = nullptr;
    slot* next = nullptr;
    state progress = state::waiting;
};

/// Slots in order of arrival, owned.
class slot_queue {
public:
    slot_queue() noexcept = default;
    slot_queue(slot_queue&& other) noexcept;
    slot_queue& operator=(slot_queue&&) = delete;
    ~slot_queue();

    slot* front() const noexcept { return head_; }
    void push(std::unique_ptr<slot>) noexcept;
    std::unique_ptr<slot> pop() noexcept;
    /// Takes all of `other` behind its own.
    void append(slot_queue& other) noexcept;

private:
    slot* head_ = nullptr;
    slot* tail_ = nullptr;
};

class command_queue {
public:
    /// At most `max_waiting` commands wait for replies at any time.
    explicit command_queue(std::size_t max_waiting) : max_waiting_(max_waiting) {}

    // The caller's side.

    /// Queues the commands and waits for their replies.
    /// \parks   until all replies are there.
    /// \throws  redis::error; cancelled.
    std::vector<weft::redis::value> call(std::unique_ptr<slot>);

    // The side of the connection's fibers.

    /// \parks  until a command wants a connection. The state is `opening` then.
    void wait_wanted();
    void opened();
    /// The connection is gone, or could not be made: fails every slot. No attempt before `retry_at`. The writer has ended.
    void lost(const std::string& reason, time_point retry_at);
    /// Fails every slot, now and from now on.
    void close(const std::string& reason);

    /// \parks  until there is something to write.
    void wait_queued();
    /// Spells all queued commands, except those whose callers have left, into `bytes`.
    void take(std::string& bytes);
    /// Something has arrived: hands the replies in it, perhaps none, to their callers, moving from them.
    /// \returns  false if there are more replies than commands.
    bool deliver(std::vector<weft::redis::value>& replies);

    /// How the conversation goes, for those who look from time to time.
    struct progress {
        bool reply_due;           // something was sent and not answered yet
        std::uint64_t arrivals;   // how often something has arrived
    };
    progress look() noexcept;

private:
    enum class state : std::uint8_t { idle, opening, open, closed };
    class finished_slots;

    void wait_in(wait_list& list, const wait_kind&, std::unique_lock<spin_lock> guard);
    std::shared_ptr<const std::string> refusal_now() const;
    void fail_all(state next, const std::shared_ptr<const std::string>& reason, time_point retry_at);

    const std::size_t max_waiting_;
    spin_lock lock_;
    state state_ = state::idle;
    time_point retry_at_{};
    std::shared_ptr<const std::string> reason_;  // of the last loss
    std::size_t waiting_ = 0;                    // commands in the queues
    std::uint64_t arrivals_ = 0;
    slot_queue queued_;
    slot_queue taken_;
    slot_queue sent_;
    wait_list opener_;
    wait_list writer_;
};

}  // namespace weft::detail::redis

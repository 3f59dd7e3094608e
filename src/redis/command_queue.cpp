// command_queue.cpp - passes commands and replies between callers and a connection's fibers.
#include "redis/command_queue.hpp"

#include <utility>

#include <weft/detail/annotated_locks.hpp>
#include <weft/redis/error.hpp>
#include <weft/stop.hpp>

#include "fiber/interrupts.hpp"
#include "fiber/wake_all.hpp"
#include "sched/wait/outer_wait.hpp"
#include "sched/wait/park_listed.hpp"

namespace weft::detail::redis {

constexpr wait_kind reply_wait{.name = "redis reply", .ends = ended_by::outside};
constexpr wait_kind opener_wait{.name = "a first redis command"};
constexpr wait_kind writer_wait{.name = "redis commands"};
constexpr wait_kind leaving_wait{.name = "redis callers that leave"};

bool slot::leaves_transaction() const noexcept {
    if (!is_transaction || replies.front().is_error()) return false;
    const auto* const refused = std::get_if<weft::redis::error_reply>(&replies.back().content());
    return refused && !refused->text.starts_with("EXECABORT");
}

slot_queue::slot_queue(slot_queue&& other) noexcept { append(other); }

slot_queue::~slot_queue() {
    while (pop()) {}
}

void slot_queue::push(std::unique_ptr<slot> s) noexcept {
    slot* const last = s.release();
    last->next = nullptr;
    (tail_ ? tail_->next : head_) = last;
    tail_ = last;
}

std::unique_ptr<slot> slot_queue::pop() noexcept {
    std::unique_ptr<slot> first(head_);
    if (first) {
        head_ = first->next;
        if (!head_) tail_ = nullptr;
    }
    return first;
}

void slot_queue::append(slot_queue& other) noexcept {
    if (!other.head_) return;
    (tail_ ? tail_->next : head_) = other.head_;
    tail_ = std::exchange(other.tail_, nullptr);
    other.head_ = nullptr;
}

/// The slots that one delivery has finished. They are collected under the lock, and woken and freed
/// after it.
class command_queue::finished_slots {
public:
    /// Called under the lock.
    /// \returns  how many callers are leaving, and will find the slot finished.
    std::size_t add(std::unique_ptr<slot> s) noexcept {
        if (s->progress == slot::state::abandoned) {
            abandoned_.push(std::move(s));
            return 0;
        }
        s->progress = slot::state::finished;
        auto& caller = *std::exchange(s.release()->caller, nullptr);  // COMMAND_QUEUE-2: the slot is the caller's
        if (!caller.claim()) return 1;
        wake_.push_back(caller);
        return 0;
    }

    void wake() noexcept { unpark_all(wake_); }

private:
    wait_list wake_;
    slot_queue abandoned_;
};

std::vector<weft::redis::value> command_queue::call(std::unique_ptr<slot> made) {
    using weft::redis::error;
    using weft::redis::error_kind;
    check_interrupt();
    slot* const mine = made.get();

    // 1. Queue it, or fail.
    unique_lock guard(lock_);
    if (const auto reason = refusal_now()) {
        guard.unlock();
        throw error(error_kind::connection, *reason);
    }
    if (waiting_ + mine->expected > max_waiting_) {
        guard.unlock();
        const auto most = std::to_string(max_waiting_);
        throw error(error_kind::refused, mine->expected > max_waiting_
                                             ? "redis: " + std::to_string(mine->expected) +
                                                   " commands in one call, and client_options::max_waiting is " + most
                                             : "redis: " + most + " commands wait for replies already");
    }
    waiting_ += mine->expected;
    queued_.push(std::move(made));

    // 2. Link the waiter, then wake the fiber that continues: the opener or the writer.
    outer_wait w(reply_wait, this);
    waiter me(w.cell(), w.ticket());
    mine->caller = &me;
    waiter* carrier = nullptr;
    if (state_ == state::idle) {
        state_ = state::opening;
        carrier = opener_.claim_front();
    } else if (state_ == state::open) {
        carrier = writer_.claim_front();
    }
    guard.unlock();
    if (carrier) carrier->unpark();

    // 3. Wait. If interrupted before the replies came, leave the slot to the queue.
    if (w.park() != wait_end::notified) {
        guard.lock();
        if (mine->progress == slot::state::waiting) {
            mine->progress = slot::state::abandoned;
            mine->caller = nullptr;
            std::string unsent;  // freed without the lock
            if (!mine->is_taken) unsent.swap(mine->commands);
            guard.unlock();
            throw cancelled();
        }
        waiter* const last = --leaving_ == 0 ? destructor_.claim_front() : nullptr;
        guard.unlock();  // COMMAND_QUEUE-5: the queue may be gone
        if (last) last->unpark();
    }
    const std::unique_ptr<slot> done(mine);
    if (done->failure) throw error(error_kind::connection, *done->failure);
    return std::move(done->replies);
}

command_queue::~command_queue() {
    const shield no_interruption;
    lock_.lock();
    while (leaving_ != 0) {
        wait_in(destructor_, leaving_wait);
        lock_.lock();
    }
    lock_.unlock();
}

std::shared_ptr<const std::string> command_queue::refusal_now() const {
    const bool down = state_ == state::closed || (state_ == state::idle && clock::now() < retry_at_);
    return down ? reason_ : nullptr;
}

/// One wait of a fiber of the connection, or of the client's destructor.
void command_queue::wait_in(wait_list& list, const wait_kind& kind) {
    outer_wait w(kind, this);
    waiter me(w.cell(), w.ticket());
    list.push_back(me);
    if (park_listed(w, me, lock_, list) != wait_end::notified) throw cancelled();
}

void command_queue::wait_wanted() {
    check_interrupt();
    lock_.lock();
    while (state_ != state::opening) {
        wait_in(opener_, opener_wait);
        lock_.lock();
    }
    lock_.unlock();
}

void command_queue::wait_queued() {
    check_interrupt();
    lock_.lock();
    while (!queued_.front()) {
        wait_in(writer_, writer_wait);
        lock_.lock();
    }
    lock_.unlock();
}

void command_queue::opened() {
    const lock_guard guard(lock_);
    state_ = state::open;
}

void command_queue::take(std::string& bytes) {
    slot_queue left;
    lock_.lock();
    while (auto s = queued_.pop()) {
        if (s->progress != slot::state::abandoned) {
            s->is_taken = true;
            taken_.push(std::move(s));
            continue;
        }
        waiting_ -= s->expected;
        left.push(std::move(s));
    }
    lock_.unlock();
    for (slot* s = taken_.front(); s; s = s->next) {
        bytes += s->commands;
        std::string().swap(s->commands);
    }
    const lock_guard guard(lock_);
    sent_.append(taken_);  // COMMAND_QUEUE-3
}

std::string command_queue::deliver(std::vector<weft::redis::value>& replies) {
    finished_slots finished;
    const char* wrong = nullptr;
    const weft::redis::error_reply* said = nullptr;
    {
        const lock_guard guard(lock_);
        ++arrivals_;
        for (auto& reply : replies) {
            slot* const first = sent_.front();
            if (!first) {
                // A server that is full, or protected, says so and closes the connection.
                said = std::get_if<weft::redis::error_reply>(&reply.content());
                wrong = "the server sent a reply that nothing asked for";
                break;
            }
            --waiting_;
            first->replies.push_back(std::move(reply));
            if (first->replies.size() != first->expected) continue;
            // What follows would be queued by the server, and is no reply.
            if (first->leaves_transaction()) wrong = "the server has refused EXEC, so it may still be in the transaction";
            leaving_ += finished.add(sent_.pop());
            if (wrong) break;
        }
    }
    finished.wake();
    if (said) return "the server said unasked: " + said->text;
    return wrong ? wrong : std::string();
}

command_queue::progress command_queue::look() noexcept {
    const lock_guard guard(lock_);
    return {.reply_due = sent_.front() != nullptr, .arrivals = arrivals_};
}

void command_queue::lost(const std::string& reason, time_point retry_at) {
    fail_all(state::idle, std::make_shared<const std::string>(reason), retry_at);
}

void command_queue::close(const std::string& reason) {
    fail_all(state::closed, std::make_shared<const std::string>(reason), never);
}

void command_queue::fail_all(state next, const std::shared_ptr<const std::string>& reason, time_point retry_at) {
    finished_slots finished;
    {
        const lock_guard guard(lock_);
        state_ = next;
        retry_at_ = retry_at;
        reason_ = reason;
        sent_.append(taken_);
        sent_.append(queued_);
        while (auto s = sent_.pop()) {
            s->failure = reason;
            leaving_ += finished.add(std::move(s));
        }
        waiting_ = 0;
    }
    finished.wake();
}

}  // namespace weft::detail::redis

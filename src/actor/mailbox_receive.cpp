// mailbox_receive.cpp - how an actor takes its messages: the next one, or the first it wants.
#include "actor/mailbox.hpp"

#include "fiber/wake_all.hpp"

namespace weft::detail {

constexpr wait_kind mailbox_wait{.name = "mailbox"};

wait_end mailbox_core::park_as_receiver(wait_cell& caller, bool any, time_point until, message*& got) {
    wait w(caller, {.kind = mailbox_wait, .object = this, .deadline = until});
    receiving me(w, any);
    receiver_ = &me;
    lock_.unlock();
    const auto why = w.park();
    if (why == wait_end::notified) {
        got = me.got;
        return why;
    }
    lock_.lock();
    if (receiver_ == &me) receiver_ = nullptr;
    lock_.unlock();
    return why;
}

std::unique_ptr<message> mailbox_core::next(time_point until, channel_op& why) {
    auto& caller = caller_cell();
    check_interrupt(caller);
    for (;;) {
        lock_.lock();
        if (leaving_) break;
        if (message* const m = oldest_) {
            unlink(*m);
            wait_list claimed;
            if (!senders_.empty()) admit_senders(claimed);
            lock_.unlock();
            unpark_all(claimed);
            return std::unique_ptr<message>(m);
        }
        if (is_shut() || until == long_past) break;
        message* got = nullptr;
        const auto woken = park_as_receiver(caller, true, until, got);
        if (got) return std::unique_ptr<message>(got);
        if (woken == wait_end::stopped) throw cancelled();
        if (woken == wait_end::timed_out) {
            why = channel_op::timeout;
            return nullptr;
        }
    }
    why = why_none();
    lock_.unlock();
    return nullptr;
}

/// During its lifetime a selective receive goes through the queue.
class WEFT_SCOPED_CAPABILITY mailbox_core::looking {
public:
    explicit looking(mailbox_core& box) noexcept WEFT_EXCLUDES(box.lock_) : box_(box) {}
    ~looking() WEFT_RELEASE() {
        if (!locked_) box_.lock_.lock();
        box_.cursor_ = nullptr;
        box_.lock_.unlock();
    }
    looking(const looking&) = delete;
    looking& operator=(const looking&) = delete;

    void lock() noexcept WEFT_ACQUIRE() {
        box_.lock_.lock();
        locked_ = true;
    }
    void unlock() noexcept WEFT_RELEASE() {
        locked_ = false;
        box_.lock_.unlock();
    }
    void was_unlocked() noexcept { locked_ = false; }

private:
    mailbox_core& box_;
    bool locked_ = false;
};

std::unique_ptr<message> mailbox_core::next_if(time_point until, bool (*wanted)(void*, message&), void* context,
                                               channel_op& why) {
    auto& caller = caller_cell();
    check_interrupt(caller);
    wait_list claimed;
    message* found = nullptr;
    bool timed_out = false;
    {
        looking look(*this);
        look.lock();
        while (!found && !leaving_) {
            if (message* const m = cursor_ ? cursor_->next_ : oldest_) {
                cursor_ = m;
                look.unlock();
                const bool fits = wanted(context, *m);  // MAILBOX-6: only the actor removes it
                look.lock();
                if (!fits) continue;
                found = m;
                unlink(*m);
                admit_senders(claimed);
                break;
            }
            if (is_shut() || until == long_past) break;
            look.was_unlocked();
            message* none = nullptr;
            const auto woken = park_as_receiver(caller, false, until, none);
            if (woken == wait_end::stopped) throw cancelled();
            look.lock();
            timed_out = woken == wait_end::timed_out;
            if (timed_out) break;
        }
        why = timed_out ? channel_op::timeout : why_none();
    }
    unpark_all(claimed);
    return std::unique_ptr<message>(found);
}

}  // namespace weft::detail

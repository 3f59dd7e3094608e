// mailbox_receive.cpp - how an actor takes its messages: the next one, or the first it wants.
#include "actor/mailbox.hpp"

#include "fiber/wake_all.hpp"

namespace weft::detail {

constexpr wait_kind mailbox_wait{.name = "mailbox"};

wake mailbox_core::park_as_receiver(wait_cell& caller, bool any, time_point until, message*& got) {
    wait w(caller, {.kind = mailbox_wait, .object = this, .deadline = until});
    receiving me(w, any);
    receiver_ = &me;
    lock_.unlock();
    const auto why = w.park();
    if (why == wake::notified) {
        got = me.got;
        return why;
    }
    lock_.lock();
    if (receiver_ == &me) receiver_ = nullptr;
    lock_.unlock();
    return why;
}

std::unique_ptr<message> mailbox_core::next(time_point until) {
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
        if ((doors_ != doors::open && reserved_ == 0) || until == long_past) break;
        message* got = nullptr;
        const auto why = park_as_receiver(caller, true, until, got);
        if (got) return std::unique_ptr<message>(got);
        if (why == wake::stopped) throw cancelled();
        if (why == wake::timed_out) return nullptr;
    }
    lock_.unlock();
    return nullptr;
}

/// During its lifetime a selective receive goes through the queue.
class mailbox_core::looking {
public:
    explicit looking(mailbox_core& box) noexcept : box_(box) {}
    ~looking() {
        if (!locked_) box_.lock_.lock();
        box_.cursor_ = nullptr;
        box_.lock_.unlock();
    }
    looking(const looking&) = delete;
    looking& operator=(const looking&) = delete;

    void lock() noexcept {
        box_.lock_.lock();
        locked_ = true;
    }
    void unlock() noexcept {
        locked_ = false;
        box_.lock_.unlock();
    }
    void was_unlocked() noexcept { locked_ = false; }

private:
    mailbox_core& box_;
    bool locked_ = false;
};

std::unique_ptr<message> mailbox_core::next_if(time_point until, bool (*wanted)(void*, message&), void* context) {
    auto& caller = caller_cell();
    check_interrupt(caller);
    wait_list claimed;
    message* found = nullptr;
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
            if ((doors_ != doors::open && reserved_ == 0) || until == long_past) break;
            look.was_unlocked();
            message* none = nullptr;
            const auto why = park_as_receiver(caller, false, until, none);
            if (why == wake::stopped) throw cancelled();
            if (why == wake::timed_out) break;
            look.lock();
        }
    }
    unpark_all(claimed);
    return std::unique_ptr<message>(found);
}

}  // namespace weft::detail

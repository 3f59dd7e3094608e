#include "actor/mailbox.hpp"

#include <stdexcept>

#include "fiber/wake_all.hpp"
#include "sched/wait/park_listed.hpp"

namespace weft::detail {

constexpr wait_kind mailbox_room_wait{.name = "room in a mailbox"};
constexpr wait_kind ask_wait{.name = "ask"};

mailbox_core::mailbox_core(std::size_t capacity, weft::overflow how) : overflow_(how), capacity_(capacity) {
    if (capacity == 0) throw std::invalid_argument("weft: an actor's mailbox holds at least 1 message, not 0");
    if (how == weft::overflow::back_off)
        throw std::invalid_argument("weft: overflow::back_off is for channels, not for mailboxes");
}

void mailbox_core::append(message& m) noexcept {
    m.next_ = nullptr;
    m.previous_ = newest_;
    (newest_ ? newest_->next_ : oldest_) = &m;
    newest_ = &m;
    ++size_;
}

void mailbox_core::unlink(message& m) noexcept {
    (m.previous_ ? m.previous_->next_ : oldest_) = m.next_;
    (m.next_ ? m.next_->previous_ : newest_) = m.previous_;
    m.next_ = m.previous_ = nullptr;
    --size_;
}

message* mailbox_core::displace_oldest() noexcept {
    message* const m = oldest_ && oldest_ == cursor_ ? oldest_->next_ : oldest_;  // MAILBOX-2
    if (m) unlink(*m);
    return m;
}

/// Claims the actor if it waits for what has come. If it accepts any message, it gets `hand_over`.
inline mailbox_core::receiving* mailbox_core::claim_receiver(message* hand_over) noexcept {
    receiving* const r = receiver_;
    if (!r) return nullptr;
    receiver_ = nullptr;
    if (!r->claim()) return nullptr;
    if (r->any) r->got = hand_over;
    return r;
}

/// The message goes to the actor or to the queue.
inline void mailbox_core::accept(message& m) noexcept {
    receiving* const r = claim_receiver(&m);
    if (!r || !r->any) append(m);
    lock_.unlock();
    if (r) unpark_inline(r->cell());
}

/// MAILBOX-3: called after room was made.
void mailbox_core::admit_senders(wait_list& claimed) noexcept {
    while (has_room()) {
        auto* const s = static_cast<asker*>(senders_.pop_front());
        if (!s) return;
        if (!s->place) {
            if (!s->claim()) continue;
            claimed.push_back(*s);
        }
        s->accepted = true;
        append(*s->mine);
    }
}

// For senders.

/// Takes the lock. With drop_oldest it drops messages to make room. \returns whether a message can
/// be accepted now.
bool mailbox_core::lock_with_room() noexcept {
    lock_.lock();
    while (!has_room() && overflow_ == weft::overflow::drop_oldest && doors_ == doors::open) {
        message* const oldest = displace_oldest();
        if (!oldest) return true;  // MAILBOX-2: only the one at cursor_ is there
        lock_.unlock();
        lost(std::unique_ptr<message>(oldest), ask_end::no_room);
        lock_.lock();
    }
    return has_room();
}

mailbox_core::posted mailbox_core::post(std::unique_ptr<message>& m) {
    auto& caller = caller_cell();
    check_interrupt(caller);
    lock_.lock();
    if (doors_ == doors::open && has_room()) [[likely]] {
        accept(*m.release());
        return posted::accepted;
    }
    lock_.unlock();
    return post_otherwise(m, caller);
}

mailbox_core::posted mailbox_core::post_otherwise(std::unique_ptr<message>& m, wait_cell& caller) {
    const bool has_place = lock_with_room();
    if (doors_ != doors::open) {
        lock_.unlock();
        return posted::closed;
    }
    if (has_place) {
        accept(*m.release());
        return posted::accepted;
    }
    if (!may_wait()) {
        lock_.unlock();
        return overflow_ == weft::overflow::drop_newest ? posted::dropped : posted::full;
    }
    wait w(caller, {.kind = mailbox_room_wait, .object = this});
    asker me(w, *m, nullptr);
    senders_.push_back(me);
    if (park_listed(w, me, lock_, senders_) != wait_end::notified) throw cancelled();
    if (!me.accepted) return posted::closed;
    static_cast<void>(m.release());
    return posted::accepted;
}

mailbox_core::asked mailbox_core::ask(std::unique_ptr<message>& m, answer_place& place, time_point until) {
    auto& caller = caller_cell();
    check_interrupt(caller);
    const bool has_place = lock_with_room();
    if (doors_ != doors::open) {
        lock_.unlock();
        return asked::closed;
    }
    if (!has_place && !may_wait()) {
        lock_.unlock();
        return overflow_ == weft::overflow::drop_newest ? asked::dropped : asked::full;
    }
    wait w(caller, {.kind = ask_wait, .object = this, .deadline = until});
    asker me(w, *m, &place);
    message& mine = *m.release();
    mine.asker_ = &me;
    mine.asked_ = true;
    me.accepted = has_place;
    if (has_place) {
        accept(mine);
    } else {
        // There is only one wait, for the answer; the message is stored when there is room.
        senders_.push_back(me);
        lock_.unlock();
    }
    const auto why = w.park();
    if (why != wait_end::notified) {
        lock_.lock();  // MAILBOX-5
        senders_.remove(me);
        if (me.mine) me.mine->asker_ = nullptr;
        lock_.unlock();
    }
    if (!me.accepted) m.reset(me.mine);
    if (why == wait_end::stopped) throw cancelled();
    return why == wait_end::timed_out ? asked::timed_out : static_cast<asked>(me.how);
}

bool mailbox_core::reserve() noexcept {
    const bool has_place = lock_with_room() && doors_ == doors::open;
    if (has_place) ++reserved_;
    lock_.unlock();
    return has_place;
}

void mailbox_core::unreserve() noexcept {
    wait_list claimed;
    lock_.lock();
    --reserved_;
    admit_senders(claimed);
    // The actor looks again.
    receiving* const r = oldest_ || doors_ != doors::open ? claim_receiver(nullptr) : nullptr;
    lock_.unlock();
    if (r) r->unpark();
    unpark_all(claimed);
}

bool mailbox_core::post_reserved(std::unique_ptr<message>& m) noexcept {
    lock_.lock();
    --reserved_;
    if (doors_ == doors::sealed) {
        lock_.unlock();
        return false;
    }
    wait_list claimed;
    receiving* const r = claim_receiver(m.get());
    message& mine = *m.release();
    if (!r || !r->any) append(mine);
    admit_senders(claimed);  // MAILBOX-3: a message that is handed over needs no room
    lock_.unlock();
    if (r) r->unpark();
    unpark_all(claimed);
    return true;
}

bool mailbox_core::force(std::unique_ptr<message> m) noexcept {
    lock_.lock();
    if (doors_ == doors::sealed) {
        lock_.unlock();
        return false;
    }
    accept(*m.release());
    return true;
}

asker* mailbox_core::claim_asker(message& m) noexcept {
    if (!m.asked_) return nullptr;
    lock_.lock();
    asker* const a = std::exchange(m.asker_, nullptr);
    const bool claimed = a && a->claim();
    if (a) a->mine = nullptr;
    lock_.unlock();
    if (!claimed) return nullptr;
    if (a->place->asks_for_ever) asks_no_longer(*a->place->asks_for_ever);
    return a;
}

bool mailbox_core::asker_expects(const message& m, const std::type_info& type) noexcept {
    lock_.lock();
    const bool does = m.asker_ && m.asker_->place->type == type;
    lock_.unlock();
    return does;
}

bool mailbox_core::refuse(message& m, ask_end how) noexcept {
    asker* const a = claim_asker(m);
    if (!a) return false;
    a->how = how;
    a->unpark();
    return true;
}

// For the life of the mailbox.

void mailbox_core::begin_life() noexcept {
    lock_.lock();
    leaving_ = false;
    doors_ = doors::open;
    lock_.unlock();
}

void mailbox_core::close() noexcept {
    wait_list claimed;
    lock_.lock();
    if (doors_ == doors::open) doors_ = doors::closed;
    receiving* const r = claim_receiver(nullptr);
    claim_all(senders_, claimed);
    lock_.unlock();
    if (r) r->unpark();
    unpark_all(claimed);
}

void mailbox_core::leave(and_then next) noexcept {
    lock_.lock();
    leaving_ = true;
    receiving* const r = claim_receiver(nullptr);
    lock_.unlock();
    if (r) r->unpark();
    if (next == and_then::close) close();
}

bool mailbox_core::is_leaving() noexcept {
    lock_.lock();
    const bool is = leaving_;
    lock_.unlock();
    return is;
}

bool mailbox_core::is_open() noexcept {
    lock_.lock();
    const bool is = doors_ == doors::open;
    lock_.unlock();
    return is;
}

std::size_t mailbox_core::size() noexcept {
    lock_.lock();
    const auto n = size_;
    lock_.unlock();
    return n;
}

void mailbox_core::seal() noexcept {
    close();
    lock_.lock();
    doors_ = doors::sealed;
    while (message* const m = oldest_) {
        unlink(*m);
        lock_.unlock();
        lost(std::unique_ptr<message>(m), ask_end::gone);
        lock_.lock();
    }
    lock_.unlock();
}

}  // namespace weft::detail

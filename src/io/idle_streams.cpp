#include "io/idle_streams.hpp"

#include <memory>
#include <utility>

#include "io/operation.hpp"
#include "io/poll_wait.hpp"
#include "sched/wait/wait_on.hpp"

namespace weft::detail {
namespace {

constexpr wait_kind idle_wait{.name = "idle streams", .ends = ended_by::outside};

// chosen: some microseconds under the lock
constexpr std::size_t claimed_at_once = 64;

}  // namespace

void idle_stream::make_due(wait_cell& cell) noexcept {
    auto& self = static_cast<idle_stream&>(cell);
    self.in().make_due(self);
}

idle_streams_core& idle_stream::in() const noexcept {
    // Stored by add(), before it is in a list.
    return *static_cast<idle_streams_core*>(const_cast<void*>(object.load(relaxed)));
}

/// Where something is wrong the stream is ready: reading from it says what.
bool idle_stream::is_ready() {
    if (auto* const s = source_of(stream)) {
        const operation_guard guard(s);
        if (!guard || s->attach() != 0 || !s->is_watched()) return true;
        seen_ = s->events(io_direction::read);
        return !s->drained(seen_) && poll_now(s->descriptor(), io_direction::read) != -EAGAIN;
    }
    if (!watch_) {
        watch_ = std::make_unique<io::byte_readiness>(stream);
        watch_->open();
    }
    // What is under way to it is worth a fiber.
    return watch_->look() != select_watch::state::idle || watch_->ready_at() != never;
}

bool idle_stream::enlist(coarse_time now) noexcept {
    since.store(now, relaxed);  // a hint for dumps
    const auto ticket = word.begin(interruptible::no);
    std::destroy_at(&me_);
    std::construct_at(&me_, static_cast<wait_cell&>(*this), ticket);
    auto* const s = source_of(stream);
    if (s ? s->enlist(me_, io_direction::read, seen_) : watch_->enlist(me_)) return true;
    require(me_.claim(), "IDLE_STREAMS-2: a waiter that was refused is in no list");
    word.unpark();
    return false;
}

void idle_stream::delist() noexcept {
    if (auto* const s = source_of(stream)) return s->delist(me_, io_direction::read);
    if (!watch_) return;
    watch_->delist(me_);
    watch_->close();
    watch_.reset();
}

bool idle_streams_core::add(idle_stream& e) {
    e.object.store(this, relaxed);  // published by the lock
    e.outcome = 0;
    e.has_slept_ = false;
    waiter* w = nullptr;
    bool is_first = false;
    for (;;) {
        const bool ready = e.is_ready();
        const auto fell_asleep = coarse(clock::now());
        const lock_guard guard(lock_);
        if (ready || is_ended_)
            due_.push_back(e);
        else if ((e.has_slept_ = e.enlist(fell_asleep)))
            asleep_.push_back(e);
        else
            continue;  // there was an event since the look
        ++size_;
        is_first = !std::exchange(is_watched_, true);
        // The caller of next() has something to do, or must know of an earlier limit.
        const bool is_earlier = asleep_.front() == &e && e.until_ < watched_until_;  // IDLE_STREAMS-6
        if (!is_first && (!due_.empty() || is_earlier)) w = watcher_.claim_front();
        break;
    }
    if (w) w->unpark();
    return is_first;
}

idle_stream* idle_streams_core::next() {
    for (;;) {
        lock_.lock();
        if (due_.empty()) claim_until(clock::now(), outcome_timed_out, claimed_at_once);
        if (auto* const e = pop_due()) {
            lock_.unlock();
            e->delist();  // IDLE_STREAMS-4
            return e;
        }
        if (size_ == 0) {
            is_watched_ = false;
            lock_.unlock();
            return nullptr;
        }
        watched_until_ = asleep_.empty() ? never : asleep_.front()->until_;
        if (wait_on(lock_, watcher_, {.kind = idle_wait, .object = this, .deadline = watched_until_}) != wait_end::stopped)
            continue;
        {
            const lock_guard guard(lock_);
            is_watched_ = false;
        }
        throw_io_error(interrupt_error(interrupt_reason()), "weft: wait for idle streams");
    }
}

bool idle_streams_core::take(idle_stream& e) noexcept {
    {
        const lock_guard guard(lock_);
        if (!wake(e, outcome_stopped)) return false;  // it is due, or an event has claimed it
        --size_;
    }
    e.delist();  // IDLE_STREAMS-4
    return true;
}

idle_stream* idle_streams_core::take_oldest() noexcept {
    idle_stream* e = nullptr;
    {
        const lock_guard guard(lock_);
        for (e = asleep_.front(); e && !wake(*e, outcome_stopped);) e = asleep_.next(*e);
        if (e) --size_;
    }
    if (e) e->delist();
    return e;
}

idle_streams_core::sight idle_streams_core::look() const noexcept {
    const lock_guard guard(lock_);
    const auto* const first = asleep_.front();
    return {.count = size_, .any_asleep = first != nullptr, .since = first ? first->since.load(relaxed) : 0};
}

void idle_streams_core::end() noexcept {
    for (bool all = false; !all;) {
        waiter* w = nullptr;
        {
            const lock_guard guard(lock_);
            is_ended_ = true;
            all = claim_until(time_point::max(), outcome_stopped, claimed_at_once) < claimed_at_once;
            if (!due_.empty() || size_ == 0) w = watcher_.claim_front();
        }
        if (w) w->unpark();
    }
}

void idle_streams_core::clear() noexcept {
    end();
    for (;;) {
        idle_stream* e = nullptr;
        {
            const lock_guard guard(lock_);
            is_ended_ = size_ != 0;
            if (!is_ended_) break;
            e = pop_due();
        }
        if (!e) {  // IDLE_STREAMS-3: another thread has claimed it, and will move it at once
            thread_yield();
            continue;
        }
        e->delist();
        destroy_(*e);
    }
}

void idle_streams_core::make_due(idle_stream& e) noexcept {
    waiter* w = nullptr;
    {
        const lock_guard guard(lock_);
        asleep_.remove(e);
        due_.push_back(e);
        w = watcher_.claim_front();
    }
    if (w) w->unpark();
}

/// Makes entries due whose limit is at or before `now`. \returns how many.
std::size_t idle_streams_core::claim_until(time_point now, wait_outcome why, std::size_t most) noexcept {
    std::size_t n = 0;
    for (auto* e = asleep_.front(); e && e->until_ <= now && n < most;) {
        auto& claimed = *std::exchange(e, asleep_.next(*e));
        if (!wake(claimed, why)) continue;
        due_.push_back(claimed);
        ++n;
    }
    return n;
}

/// Takes the entry out of asleep_. \returns false if an event has claimed it, or it is due.
bool idle_streams_core::wake(idle_stream& e, wait_outcome why) noexcept {
    if (!e.me_.claim()) return false;
    e.outcome = why;
    e.word.unpark();
    asleep_.remove(e);
    return true;
}

idle_stream* idle_streams_core::pop_due() noexcept {
    auto* const e = due_.pop_front();
    if (e) --size_;
    return e;
}

}  // namespace weft::detail

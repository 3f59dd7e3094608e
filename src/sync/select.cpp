// select.cpp - select over type-erased cases: decides under all locks, or waits in all lists.
//
// It tries one case alone first, then decides among all cases under all locks, then waits in all
// lists at once. A watch (a descriptor) may be ready or not whatever select locks, and looking at
// it takes a system call. So select looks at it before the decision, and again after each event.
//
// Invariants
//   SELECT-1  Channels are locked in the order of their addresses, each once.
//   SELECT-2  The decision to wait and the linking of all waiters happen under all locks. So a case
//             that becomes ready afterwards finds the waiters.
//   SELECT-3  All waiters share one ticket, so at most one partner, token or timer claims the wait
//             (WAIT_WORD-2): at most one case happens.
//   SELECT-4  Before the frame is left, or another round begins, every waiter of the last round is
//             unlinked.
//   SELECT-5  select waits for a fiber's end in the list of its joiners. It takes the locks of
//             these fibers one at a time, after the channels' locks are given back (SELECT-1). An
//             end that has come stays, so a look under that fiber's lock while linking misses
//             nothing. A fiber that has ended by then claims the wait.
//   SELECT-6  A watch is chosen only if the last look said that it is ready. An event after that
//             look ends the wait, or prevents that the waiter is enlisted; then a new round begins
//             with a new look. So no event is missed, and an event that means nothing costs one
//             round.
//   SELECT-7  Every watch is open from before the first look until the selection goes.
//   SELECT-8  If the case that is drawn first is a channel's, it may be done under that channel's
//             lock alone: it was ready at that moment. Deciding that no case is ready takes all
//             locks. The draw goes on from the first case drawn, so all ready cases are equally
//             likely.
#include <weft/detail/select_core.hpp>

#include <weft/detail/annotated_locks.hpp>
#include <weft/stop.hpp>

#include <algorithm>
#include <functional>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include "fiber/control_block.hpp"
#include "sched/simulate/choice.hpp"
#include "sched/wait/stop_waiter.hpp"
#include "sync/channel_core.hpp"

namespace weft::detail {
namespace {

constexpr wait_kind select_wait{.name = "select"};
constexpr wait_kind select_readiness_wait{.name = "select", .ends = ended_by::outside};

static_assert(sizeof(channel_waiter) <= sizeof(select_registration) && std::is_trivially_destructible_v<channel_waiter>);
static_assert(sizeof(waiter) <= sizeof(select_registration) && std::is_trivially_destructible_v<waiter>);
static_assert(sizeof(stop_waiter) <= sizeof(select_registration));

// chosen: a look takes 1 us, and delays no other fiber
constexpr std::chrono::microseconds first_nap(50), longest_nap(2000);

bool has_channel(const select_entry& e) noexcept { return e.kind == select_kind::send || e.kind == select_kind::receive; }

direction direction_of(const select_entry& e) noexcept {
    return e.kind == select_kind::send ? direction::send : direction::receive;
}

/// The result of the chosen case, which has a channel.
void report_result(const select_entry& e, channel_op result) {
    if (e.result)
        *e.result = result;
    else if (result != channel_op::done && e.kind == select_kind::send)
        channel_not_sent(*e.channel, result);
}

/// An index below n, drawn at random; 0 if n is 0.
std::size_t draw(std::size_t n) noexcept { return n == 0 ? 0 : choose(static_cast<std::uint32_t>(n)); }

bool is_ready_now(select_watch& watch) noexcept {
    watch.open();
    const auto seen = watch.look();
    watch.close();
    return seen == select_watch::state::ready;
}

class selection {
public:
    selection(std::span<select_entry>, select_order*, select_registration*) noexcept;
    selection(const selection&) = delete;
    selection& operator=(const selection&) = delete;
    ~selection();
    /// `first`: the index that was drawn already (SELECT-8).
    std::size_t run(std::size_t first);

private:
    struct ready_case {
        std::size_t index;
        channel_op result = channel_op::done;
        transfer rest{};
    };

    void look_at_watches() noexcept;
    std::optional<ready_case> begin_any(std::size_t first) noexcept;
    bool begin(ready_case&) noexcept;
    std::optional<std::size_t> wait_for_any(wait&);
    std::optional<std::size_t> timed_out() noexcept;
    std::size_t chosen(std::size_t index, channel_op result) const;

    void lock_all() noexcept;
    void unlock_all() noexcept;
    void link_all(wait&) noexcept;
    void watch_fibers(wait&) noexcept;
    void forget_fibers() noexcept;
    void enlist_watches(wait&) noexcept;
    void delist_watches() noexcept;
    void watch_tokens(wait&);
    void forget_tokens() noexcept;
    void unlink_all() noexcept;

    template <class Registration>
    Registration& registered(std::size_t i) noexcept {
        return *std::launder(reinterpret_cast<Registration*>(registrations_[i].bytes));
    }

    const std::span<select_entry> entries_;
    select_registration* const registrations_;
    std::span<select_order> by_address_;  // the cases with a channel
    std::optional<std::size_t> otherwise_;
    std::optional<std::size_t> timeout_;  // the earliest one
    time_point until_ = never;  // the time of timeout_
    bool has_watches_ = false;
    time_point look_again_ = never;  // when to look again at the watches, without an event
    std::chrono::microseconds nap_ = first_nap;
    // in the channels' lists, because the wait goes on although it was claimed
    bool keeps_place_ = false;
};

selection::selection(std::span<select_entry> entries, select_order* order, select_registration* registrations) noexcept
    : entries_(entries), registrations_(registrations) {
    std::size_t channels = 0;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        auto& e = entries[i];
        e.turn = static_cast<std::uint32_t>(i);
        if (has_channel(e)) order[channels++] = &e;
        if (e.kind == select_kind::otherwise && !otherwise_) otherwise_ = i;
        if (e.kind == select_kind::timeout && (!timeout_ || e.until < until_)) {
            timeout_ = i;
            until_ = e.until;
        }
        if (e.kind == select_kind::watch) {
            has_watches_ = true;
            e.watch->open();
        }
    }
    by_address_ = {order, channels};
    std::ranges::sort(by_address_, std::less<>(), &select_entry::channel);  // SELECT-1
}

selection::~selection() {
    if (!has_watches_) return;
    for (const auto& e : entries_)
        if (e.kind == select_kind::watch) e.watch->close();
}

std::size_t selection::run(std::size_t first) {
    for (;; first = draw(entries_.size())) {
        // 1. Decide.
        if (has_watches_) look_at_watches();
        lock_all();
        if (auto ready = begin_any(first)) {
            unlock_all();
            if (has_channel(entries_[ready->index]))
                entries_[ready->index].channel->finish(entries_[ready->index].element, ready->rest);
            return chosen(ready->index, ready->result);
        }
        if (otherwise_) {
            unlock_all();
            return *otherwise_;
        }
        // 2. Or wait for all cases (SELECT-2).
        wait w({.kind = has_watches_ ? select_readiness_wait : select_wait, .deadline = std::min(until_, look_again_)});
        link_all(w);
        unlock_all();
        if (const auto index = wait_for_any(w)) return *index;
        // 3. A partner's move has thrown, or a watch must be looked at again.
    }
}

// Looks at all watches (SELECT-6).
void selection::look_at_watches() noexcept {
    look_again_ = never;
    bool has_unwatched = false;
    for (auto& e : entries_) {
        if (e.kind != select_kind::watch) continue;
        e.seen = e.watch->look();
        if (e.seen != select_watch::state::ready) look_again_ = std::min(look_again_, e.watch->ready_at());
        has_unwatched |= e.seen == select_watch::state::unwatched;
    }
    if (!has_unwatched) return;
    look_again_ = std::min(look_again_, deadline_after(nap_));
    nap_ = std::min(2 * nap_, longest_nap);
}

/// Begins a ready case, if there is one: the first in a random order. Called under all locks.
std::optional<selection::ready_case> selection::begin_any(std::size_t first) noexcept {
    const auto n = entries_.size();
    for (std::size_t k = 0; k < n; ++k) {
        std::swap(entries_[k].turn, entries_[k == 0 ? first : k + draw(n - k)].turn);
        ready_case c{.index = entries_[k].turn};
        if (begin(c)) return c;
    }
    return std::nullopt;
}

// Not analysed: lock_all() has taken the lock.
bool selection::begin(ready_case& c) noexcept WEFT_NO_THREAD_SAFETY_ANALYSIS {
    auto& e = entries_[c.index];
    if (e.kind == select_kind::stop) return e.token->stop_requested();
    if (e.kind == select_kind::join) return e.fiber->has_ended();
    if (e.kind == select_kind::watch) return e.seen == select_watch::state::ready;
    if (!has_channel(e)) return false;
    c.result = e.channel->begin(direction_of(e), e.element, c.rest);
    return e.channel->is_over(c.result);
}

/// \returns  the case that ended the wait; nothing if select must begin another round.
std::optional<std::size_t> selection::wait_for_any(wait& w) {
    watch_fibers(w);
    watch_tokens(w);
    if (has_watches_) enlist_watches(w);
    const auto why = w.park();
    if (has_watches_) delist_watches();
    forget_tokens();
    forget_fibers();
    unlink_all();  // SELECT-4
    keeps_place_ = false;
    if (why == wait_end::stopped) throw cancelled{};
    if (why == wait_end::timed_out) return timed_out();
    const auto index = w.index();
    auto& e = entries_[index];
    if (e.kind == select_kind::watch) return std::nullopt;  // SELECT-6
    if (!has_channel(e)) return index;
    const auto result = e.channel->settle(e.element, registered<channel_waiter>(index));
    keeps_place_ = !result;
    if (!result) return std::nullopt;
    return chosen(index, *result);
}

std::optional<std::size_t> selection::timed_out() noexcept {
    if (look_again_ >= until_) return timeout_;
    return std::nullopt;
}

std::size_t selection::chosen(std::size_t index, channel_op result) const {
    report_result(entries_[index], result);
    return index;
}

// Not analysed, as its counterpart: the locks are as many as the entries say.
void selection::lock_all() noexcept WEFT_NO_THREAD_SAFETY_ANALYSIS {
    channel_core* locked = nullptr;
    for (const auto* e : by_address_)
        if (e->channel != std::exchange(locked, e->channel)) e->channel->lock().lock();  // SELECT-1
}

void selection::unlock_all() noexcept WEFT_NO_THREAD_SAFETY_ANALYSIS {
    channel_core* unlocked = nullptr;
    for (const auto* e : by_address_)
        if (e->channel != std::exchange(unlocked, e->channel)) e->channel->lock().unlock();
}

// Not analysed: lock_all() has taken the locks.
void selection::link_all(wait& w) noexcept WEFT_NO_THREAD_SAFETY_ANALYSIS {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        auto& e = entries_[i];
        if (!has_channel(e)) continue;
        auto* const me = ::new (registrations_[i].bytes) channel_waiter(w, static_cast<wait_outcome>(i), e.element);
        e.channel->link(direction_of(e), *me, keeps_place_);
    }
}

// Enters the wait into the joiners of the fibers (SELECT-5).
void selection::watch_fibers(wait& w) noexcept {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        auto& e = entries_[i];
        if (e.kind != select_kind::join) continue;
        require(e.fiber != this_fiber_block(), "a fiber cannot join itself");
        auto* const me = ::new (registrations_[i].bytes) waiter(w.cell(), w.ticket(), static_cast<wait_outcome>(i));
        bool ended_already;
        {
            const lock_guard guard(e.fiber->lock);
            ended_already = !e.fiber->life.await();  // CONTROL_BLOCK-4
            if (!ended_already) e.fiber->joiners().push_back(*me);
        }
        if (ended_already && me->claim()) me->unpark();
    }
}

void selection::forget_fibers() noexcept {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        if (entries_[i].kind != select_kind::join) continue;
        const lock_guard guard(entries_[i].fiber->lock);
        entries_[i].fiber->joiners().remove(registered<waiter>(i));
    }
}

// Enlists the wait with the watches that are not ready (SELECT-6).
void selection::enlist_watches(wait& w) noexcept {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        auto& e = entries_[i];
        if (e.kind != select_kind::watch) continue;
        auto* const me = ::new (registrations_[i].bytes) waiter(w.cell(), w.ticket(), static_cast<wait_outcome>(i));
        if (e.seen == select_watch::state::idle && !e.watch->enlist(*me) && me->claim()) me->unpark();
    }
}

void selection::delist_watches() noexcept {
    for (std::size_t i = 0; i < entries_.size(); ++i)
        if (entries_[i].kind == select_kind::watch) entries_[i].watch->delist(registered<waiter>(i));
}

void selection::watch_tokens(wait& w) {
    for (std::size_t i = 0; i < entries_.size(); ++i)
        if (entries_[i].kind == select_kind::stop)
            ::new (registrations_[i].bytes) stop_waiter(w, static_cast<wait_outcome>(i), *entries_[i].token);
}

void selection::forget_tokens() noexcept {
    for (std::size_t i = 0; i < entries_.size(); ++i)
        if (entries_[i].kind == select_kind::stop) registered<stop_waiter>(i).~stop_waiter();
}

void selection::unlink_all() noexcept {
    for (std::size_t i = 0; i < entries_.size(); ++i)
        if (has_channel(entries_[i])) entries_[i].channel->unlink(direction_of(entries_[i]), registered<channel_waiter>(i));
}

bool operate_now(select_entry& e) {
    const auto result = e.channel->try_operate(direction_of(e), e.element);
    if (!e.channel->is_over(result)) return false;
    report_result(e, result);
    return true;
}

}  // namespace

std::size_t select_core(std::span<select_entry> entries, select_order* order, select_registration* registrations) {
    check_interrupt();
    const std::size_t first = draw(entries.size());
    // SELECT-8
    if (!entries.empty() && has_channel(entries[first]) && operate_now(entries[first])) return first;
    return selection(entries, order, registrations).run(first);
}

void enter_select() { check_interrupt(); }

bool select_now(select_entry& e) {
    switch (e.kind) {
        case select_kind::send:
        case select_kind::receive: return operate_now(e);
        case select_kind::stop: return e.token->stop_requested();
        case select_kind::join: return e.fiber->has_ended();
        case select_kind::watch: return is_ready_now(*e.watch);
        default: return false;
    }
}

}  // namespace weft::detail

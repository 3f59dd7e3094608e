// channel_life.cpp - how a channel is closed, how its handles are counted, and how it ends.
#include <weft/stop.hpp>

#include "base/exiting.hpp"
#include "fiber/switch_point.hpp"
#include "fiber/wake_all.hpp"
#include "sync/channel_core.hpp"

namespace weft::detail {

constexpr wait_kind ticker_wait{.name = "ticker", .ends = ended_by::outside};

void channel_core::close() noexcept {
    switch_point();
    wait_list claimed;
    lock_.lock();
    closed_ = true;
    claim_all(senders_, claimed);
    end_receivers_if_drained(claimed);
    lock_.unlock();
    unpark_all(claimed);
}

bool channel_core::is_closed() noexcept {
    switch_point();
    return was_closed();
}

bool channel_core::was_closed() noexcept {
    lock_.lock();
    const bool closed = closed_;
    lock_.unlock();
    return closed;
}

std::size_t channel_core::size() noexcept {
    switch_point();
    lock_.lock();
    const auto n = buffer_.size();
    lock_.unlock();
    return n;
}

// relaxed: made from another handle, so the count is not 0
void channel_core::add_handle() noexcept { handles_.fetch_add(1, relaxed); }

void channel_core::drop_handle() noexcept {
    if (kept_) [[unlikely]]
        return drop_kept_handle();
    // Pairs with itself. release: what this handle did; acquire: what the other handles did, before
    // the end.
    if (handles_.fetch_sub(1, acq_rel) == 1) end();
}

// Not analysed: no other thread uses the channel any more.
void channel_core::end() noexcept WEFT_NO_THREAD_SAFETY_ANALYSIS {
    // CHANNEL_CORE-8
    if (!require_at_end(senders_.empty() && receivers_.empty(), "channel: destroyed while somebody waits")) return;
    const auto& element = buffer_.element();
    delete this;
    if (element.end) element.end(element);
}

void channel_core::drop_kept_handle() noexcept {
    wait_list claimed;
    lock_.lock();
    const auto left = handles_.fetch_sub(1, acq_rel) - 1;  // ordered as in drop_handle()
    if (left == 1) {
        closed_ = true;
        claim_all(senders_, claimed);
        claim_all(keeper_, claimed);
    }
    // CHANNEL_CORE-7: from here on, unless this was the last handle, the keeper may have finished
    lock_.unlock();
    unpark_all(claimed);
    if (left == 0) delete this;
}

bool channel_core::await_abandoned(time_point until) {
    check_interrupt();
    lock_.lock();
    if (handles_.load(acquire) == 1) {  // pairs with drop_kept_handle()
        lock_.unlock();
        return true;
    }
    wait w({.kind = ticker_wait, .object = this, .deadline = until});
    waiter me(w.cell(), w.ticket());
    keeper_.push_back(me);
    lock_.unlock();
    const auto why = w.park();
    lock_.lock();  // CHANNEL_CORE-7
    keeper_.remove(me);
    lock_.unlock();
    if (why == wait_end::stopped) throw cancelled{};
    return why == wait_end::notified;
}

// relaxed, as in add_handle()
void channel_core::add_sender() noexcept { sender_handles_.fetch_add(1, relaxed); }

void channel_core::drop_sender() noexcept {
    // ordered as in drop_handle(): all sends come before the close
    if (sender_handles_.fetch_sub(1, acq_rel) == 1) close();
}

}  // namespace weft::detail

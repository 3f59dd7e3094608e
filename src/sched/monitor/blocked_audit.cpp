#include "sched/monitor/blocked_audit.hpp"

#include <algorithm>
#include <utility>

#include "base/blocked_places.hpp"
#include "sched/monitor/blocked_in.hpp"
#include "sched/scheduler.hpp"

namespace weft::detail {
namespace {

// chosen: the reporter is woken after each round of the monitor, which takes as many workers as there are
constexpr std::size_t most_taken = 32;
// chosen: asking the kernel takes some microseconds for each thread
constexpr std::size_t most_asked = 16;

}  // namespace

bool blocked_audit::is_on() const noexcept { return owner_.is_hooked(); }

void blocked_audit::start() {
    if (!is_on()) return;
    samples_.resize(owner_.worker_count());
    open_.reserve(std::max(owner_.options().max_carriers, owner_.worker_count()));
    const lock_guard guard(lock_);
    taken_.reserve(most_taken);
    being_read_.reserve(most_taken);
}

void blocked_audit::is_about_to_take(unsigned worker, carrier& from, time_point since) noexcept {
    auto& s = samples_[worker];
    s.on = &from;
    s.since = since;
    s.back = from.begin_absence();
    sample_blocked_thread(from.probe().id(), s.what);
}

void blocked_audit::has_taken(unsigned worker) noexcept {
    const auto& s = samples_[worker];
    if (!s.what.spot.is_known()) return;  // the call has ended
    const lock_guard guard(lock_);
    if (taken_.size() < most_taken) taken_.push_back(s);
}

bool blocked_audit::look() noexcept {
    begin_those_taken();
    const auto asked_from = next_asked_;
    next_asked_ += most_asked;
    if (next_asked_ >= open_.size()) next_asked_ = 0;
    std::size_t i = 0;
    std::erase_if(open_, [&](const open_call& c) {
        const bool asks_kernel = i >= asked_from && i < asked_from + most_asked;
        ++i;
        time_point end;
        if (!has_ended(c, asks_kernel, end)) return false;
        note_end(c, end);
        return true;
    });
    return !open_.empty();
}

void blocked_audit::stop() noexcept {
    if (!is_on()) return;
    look();
    for (const auto& c : open_) note_end(c, clock::now());
    open_.clear();
}

void blocked_audit::begin_those_taken() noexcept {
    {
        const lock_guard guard(lock_);
        std::swap(taken_, being_read_);
    }
    for (const auto& s : being_read_) begin(s);
    being_read_.clear();
}

void blocked_audit::begin(const sighting& s) noexcept {
    // BLOCKED_AUDIT-2
    std::erase_if(open_, [&](const open_call& c) {
        if (c.on != s.on) return false;
        note_end(c, s.back != time_point() ? s.back : s.since);
        return true;
    });
    const open_call c{.on = s.on, .since = s.since, .caller = caller_in(s.what), .spot = s.what.spot};
    note_blocked_call(c.caller, c.spot.number, c.spot.number < 0 ? "page fault" : name_of_system_call(c.spot.number));
    if (open_.size() != open_.capacity()) open_.push_back(c);
}

bool blocked_audit::has_ended(const open_call& c, bool asks_kernel, time_point& end) const noexcept {
    end = c.on->back_since();
    if (end != time_point()) return true;
    if (!asks_kernel || spot_of(c.on->probe().id()) == c.spot) return false;
    end = clock::now();
    return true;
}

void blocked_audit::note_end(const open_call& c, time_point end) noexcept {
    note_blocked_time(c.caller, c.spot.number, std::max(end - c.since, duration::zero()));
}

}  // namespace weft::detail

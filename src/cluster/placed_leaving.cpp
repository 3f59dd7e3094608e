// placed_leaving.cpp - how a placed actor leaves its node: by a move, or by the end of the placement.
#include <algorithm>
#include <utility>

#include <weft/deadline.hpp>
#include <weft/fiber.hpp>
#include <weft/stop.hpp>

#include "cluster/node_core.hpp"
#include "cluster/placed_life.hpp"
#include "cluster/subject.hpp"

namespace weft::cluster {
namespace detail {
namespace {

constexpr std::chrono::nanoseconds look_again = std::chrono::milliseconds(1);  // chosen: for what has no event

}  // namespace

/// Brings an actor that is to leave on its way, or opens its doors again. Gives the lock up meanwhile.
/// \returns when to look again
time_point placed_core::let_leave(lock& held, life& self, std::uint64_t serial) {
    if (self.is_last) return weft::detail::never;
    if (!ends_ && !(departure_ && weft::now() < departure_->until)) {
        self.is_asked_for_last = false;  // the actor passes over a request that is in its mailbox
        finish(false);
        if (std::exchange(self.has_closed_doors, false)) set_doors(held, serial, true);
        return weft::detail::never;
    }
    const auto limit = ends_ ? end_until_ : departure_->until;
    if (!std::exchange(self.has_closed_doors, true)) set_doors(held, serial, false);  // PLACED-3
    if (self.is_asked_for_last) return limit;
    held.unlock();
    const bool all_is_in = !node_.is_delivering_to(serial);
    held.lock();
    if (all_is_in && self.has_closed_doors) {
        if (weft::detail::reserved_room room(self.actor.core()); room) {
            self.is_asked_for_last = true;
            ++self.requests;
            room.post(kind_.save_last());
            return limit;
        }
    }
    return std::min(limit, weft::now() + look_again);
}

void placed_core::set_doors(lock& held, std::uint64_t serial, bool open) {
    held.unlock();
    node_.set_doors(serial, open);
    held.lock();
}

/// Under the lock.
void placed_core::finish(bool has_left) noexcept {
    if (!departure_) return;
    departure_->has_left = has_left;
    departure_->is_over = true;
    departure_ = nullptr;
    touch();
}

/// Tells who waits for the actor to leave.
void placed_core::tell(bool has_left) noexcept {
    const lock held(lock_);
    finish(has_left);
}

std::string placed_core::move(std::string_view to, time_point until) {
    require_name("node", to);
    departure mine{.to = std::string(to), .until = until};
    {
        lock held(lock_);
        changed_.wait_until(held, until, [&] { return departure_ == nullptr; });
        if (!now_ || ends_)
            throw error(errc::not_owner,
                        "weft: '" + name_ + "' does not run on node '" + node_.name() + "', so this node cannot move it", false);
        if (to == node_.name()) return mine.to;
        if (departure_) throw timeout_error("weft: '" + name_ + "' was not moved in time: another move is under way");
        departure_ = &mine;
        mine.token = now_->token;
        touch();
        const auto forget = [&] {
            if (departure_ == &mine) departure_ = nullptr;
            touch();
        };
        try {
            changed_.wait_until(held, until, [&] { return mine.is_over; });
        } catch (...) {
            forget();
            throw;
        }
        forget();
    }
    if (!mine.has_left && weft::now() < until)
        throw error(errc::not_owner, "weft: '" + name_ + "' has ended on node '" + node_.name() + "' before it was moved", false);
    if (!mine.has_left) throw timeout_error("weft: '" + name_ + "' has not left node '" + node_.name() + "' in time");
    for (auto wait = look_again;; wait = std::min(wait * 2, first_rest)) {
        try {
            if (const auto by = weft::with_deadline(until, [&] { return node_.names()->find(name_); });
                by && by->token != mine.token)
                return by->node;
        } catch (const std::system_error&) {  // the store is out of reach
        }
        if (weft::now() >= until)
            throw timeout_error("weft: '" + name_ + "' has left node '" + node_.name() + "', and no node has it yet");
        weft::this_fiber::sleep_for(wait);
    }
}

bool placed_core::has_ended() noexcept {
    const lock held(lock_);
    return has_ended_ || !has_begun_;  // the keeper will see that before anything else
}

void placed_core::ask_to_end() noexcept {
    const lock held(lock_);
    if (!std::exchange(ends_, true)) end_until_ = weft::now() + options_.shutdown;
    touch();
}

void placed_core::end() noexcept {
    const shield until_over;
    ask_to_end();
    lock held(lock_);
    changed_.wait_until(held, end_until_ + 2 * to_die, [&] { return has_ended_ || !has_begun_; });
}

}  // namespace detail

placement::placement(std::shared_ptr<detail::node_core> by, std::shared_ptr<detail::placed_core> what) noexcept
    : by_(std::move(by)), what_(std::move(what)) {}
placement::placement(placement&&) noexcept = default;
placement& placement::operator=(placement&& other) noexcept {
    if (this == &other) return *this;
    end();
    by_ = std::move(other.by_);
    what_ = std::move(other.what_);
    return *this;
}
placement::~placement() { end(); }

detail::placed_core& placement::core() const {
    if (!what_) throw error(errc::closed, "weft: this placement was moved from", false);
    return *what_;
}
const std::string& placement::name() const { return core().name(); }
bool placement::runs_here() const noexcept { return what_ && what_->runs_here(); }
std::string placement::move_until(std::string_view to, weft::detail::time_point until) { return core().move(to, until); }
void placement::end() noexcept {
    if (what_) by_->end_placement(what_);
}

}  // namespace weft::cluster

#include "cluster/placed.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <weft/cluster/error.hpp>
#include <weft/deadline.hpp>
#include <weft/fiber.hpp>
#include <weft/simulation.hpp>
#include <weft/stop.hpp>

#include "cluster/node_core.hpp"
#include "cluster/subject.hpp"

namespace weft::cluster {
namespace detail {
namespace {

using namespace std::chrono_literals;

// All chosen: a node of a lower rank waits a step for each one before it, and for the node that an actor was
// moved to longer than that one needs to see it.
constexpr std::chrono::nanoseconds step = 100ms, last_step = 1s, for_the_next = 2s;
constexpr std::chrono::nanoseconds first_rest = 100ms, longest_rest = 30s, long_enough = 60s;
constexpr std::chrono::nanoseconds look_again = 1ms;  // whether all that was accepted is in the mailbox
constexpr std::chrono::nanoseconds to_die = 1s;

constexpr std::uint8_t record_format = 1;

exit_reason failure_of(std::exception_ptr what) { return {.kind = exit_kind::failed, .failure = std::move(what)}; }
exit_reason failure_of(errc why, const std::string& text) { return failure_of(std::make_exception_ptr(error(why, text, false))); }

}  // namespace

std::string placed_record::text() const {
    byte_vector bytes;
    put(bytes, record_format);
    put(bytes, token);
    put(bytes, number);
    put(bytes, kind);
    put(bytes, version);
    put(bytes, next);
    bytes.insert(bytes.end(), state.begin(), state.end());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::optional<placed_record> placed_record::in(std::string_view text) {
    byte_reader in(std::as_bytes(std::span(text)));
    placed_record r;
    const auto format = in.number<std::uint8_t>();
    r.token = in.number<std::uint64_t>();
    r.number = in.number<std::uint64_t>();
    r.kind = in.number<std::uint64_t>();
    r.version = in.number<std::uint32_t>();
    r.next = in.text();
    const auto state = in.rest();
    if (in.failed() || format != record_format) return std::nullopt;
    r.state.assign(state.begin(), state.end());
    return r;
}

/// One life of the actor on this node. Guarded by the placement's lock, except what is set before the actor is
/// made.
class placed_core::life final : public placed_life {
public:
    life(std::shared_ptr<placed_core> of, std::uint64_t t) : token(t), of_(std::move(of)) {}

    bool handled() override {
        const lock held(of_->lock_);
        is_changed = true;
        if (of_->options_.when == checkpoint::before_answer) return true;
        if (given) return false;  // the store is slower than that
        const bool is_due = weft::now() - given_at >= of_->options_.every;
        if (!is_due) of_->touch();
        return is_due;
    }
    bool wants_state() override {
        const lock held(of_->lock_);
        is_asked = false;
        return is_changed;
    }
    void give(byte_vector state) override {
        lock held(of_->lock_);
        take(held, std::move(state));
        if (of_->options_.when != checkpoint::before_answer) return;
        const auto mine = times_given;
        of_->changed_.wait(held, [&] { return times_stored >= mine; });  // or the kill comes (PLACED-5)
    }
    bool leaves() override {
        const lock held(of_->lock_);
        // Only the request that was posted last is behind all that was accepted (PLACED-3).
        is_last = --requests == 0 && is_asked_for_last;
        return is_last;
    }
    void give_last(byte_vector state) override {
        lock held(of_->lock_);
        take(held, std::move(state));
        has_given_last = true;
    }

    const std::uint64_t token;
    placed_record before;  // the last one that was stored
    std::uint64_t before_token = 0;  // of its entry
    weft::detail::actor_core_ref actor;
    std::optional<receiver<exit_reason>> told;  // of its end
    std::optional<byte_vector> given;  // to be stored
    std::uint64_t times_given = 0, times_stored = 0;
    time_point given_at{};
    bool is_changed = false;  // a message was handled since the state was given
    bool is_asked = false;  // for its state, by a message in its mailbox
    std::optional<exit_reason> end;  // of the actor, or why it cannot go on
    bool is_over = false;  // nothing of it is stored any more
    bool has_closed_doors = false;
    bool is_asked_for_last = false;  // the doors are closed, and a request for the last state is in the mailbox
    int requests = 0;  // all that are there
    bool is_last = false;  // the actor handles nothing more, and makes its last state
    bool has_given_last = false;

private:
    void take(lock& held, byte_vector state) {
        if (is_over) of_->changed_.wait(held, [] { return false; });  // until the kill
        if (state.size() > of_->options_.max_state_bytes)
            throw error(errc::too_large,
                        "weft: the state of '" + of_->name_ + "' has " + std::to_string(state.size()) + " bytes, and at most " +
                            std::to_string(of_->options_.max_state_bytes) + " are stored (place_options::max_state_bytes)",
                        false);
        given = std::move(state);
        given_at = weft::now();
        is_changed = false;
        ++times_given;
        of_->touch();
    }

    const std::shared_ptr<placed_core> of_;
};

placed_core::placed_core(node_core& by, std::string_view name, const place_options& options, const placed_kind& kind)
    : node_(by),
      name_(name),
      actor_name_(options.actor.name.empty() ? name : options.actor.name),
      options_(options),
      kind_(kind) {
    if (options_.every <= options_.every.zero())
        throw std::invalid_argument("weft: place_options::every must be longer than zero");
    if (options_.shutdown <= options_.shutdown.zero())
        throw std::invalid_argument("weft: place_options::shutdown must be longer than zero");
    if (options_.actor.overflow != weft::overflow::park)
        throw std::invalid_argument(
            "weft: a placed actor's mailbox cannot drop or refuse messages: place_options::actor.overflow is park");
    if (options_.max_state_bytes == 0) throw std::invalid_argument("weft: place_options::max_state_bytes is at least 1");
}

std::string placed_core::state_key() const { return node_.names()->prefix() + "state/" + name_; }

bool placed_core::holds(const held_name& n) { return node_.names()->holds(n); }

/// Something has changed. Under the lock.
void placed_core::touch() noexcept {
    ++events_;
    changed_.notify_all();
}

void placed_core::wake() noexcept {
    const lock held(lock_);
    touch();
}

/// The node has lost its lease. The keeper may be waiting for the store now, and the actor must not go on.
void placed_core::fence() noexcept {
    std::shared_ptr<life> lost;
    {
        const lock held(lock_);
        lost = now_;
        if (lost) lost->is_over = true;
        touch();
    }
    if (lost) weft::detail::actor_kill(lost->actor.core());
}

bool placed_core::runs_here() noexcept {
    const lock held(lock_);
    return now_ && !now_->is_over;
}

void placed_core::report(const exit_reason& why) {
    {
        const lock held(lock_);
        if (ends_ || !options_.on_end) return;
    }
    try {
        options_.on_end(name_, why);
    } catch (const weft::cancelled&) {
        throw;
    } catch (...) {  // as place_options says
    }
}

void placed_core::run() {
    struct at_the_end {  // also if the node ends
        ~at_the_end() {
            core.tell(false);
            const lock held(core.lock_);
            core.has_ended_ = true;
            core.touch();
        }
        placed_core& core;
    } const told{*this};
    {
        const lock held(lock_);
        has_begun_ = true;
    }
    for (nanoseconds rest(0); wait_for_turn(rest);) {
        const auto serial = node_.reserve_serial();
        std::shared_ptr<held_name> mine;
        try {
            mine = node_.names()->claim(name_, serial);
        } catch (const error&) {  // no lease now
            rest = first_rest;
            continue;
        }
        // Another node was faster, or, while this one holds the name, somebody has removed its entry.
        rest = mine ? live(mine, serial, rest) : first_rest;
    }
}

/// \returns false once the placement is to end
bool placed_core::rest_for(nanoseconds rest) {
    lock held(lock_);
    changed_.wait_for(held, rest, [&] { return ends_; });
    return !ends_;
}

/// Waits until this node should claim the name. \returns false once the placement is to end
bool placed_core::wait_for_turn(nanoseconds rest) {
    if (!rest_for(rest)) return false;
    for (;;) {
        std::uint64_t seen = 0;
        {
            const lock held(lock_);
            seen = events_;
        }
        std::optional<nanoseconds> wait;
        try {
            wait = turn();
        } catch (const std::system_error&) {  // the store is out of reach
            if (!rest_for(first_rest)) return false;
            continue;
        }
        lock held(lock_);
        const bool is_awake = changed_.wait_for(held, wait.value_or(node_.lease()), [&] { return ends_ || events_ != seen; });
        if (ends_) return false;
        if (wait && !is_awake) return true;
    }
}

/// \returns how long this node should leave the name to others; nothing if it is not to be had
std::optional<placed_core::nanoseconds> placed_core::turn() {
    if (node_.incarnation() == 0 || node_.names()->find(name_)) return std::nullopt;
    const auto found = node_.names()->store().find(state_key());
    const auto record = found ? placed_record::in(found->value) : std::nullopt;
    // A node of an older release does not take what it cannot read.
    if (record && record->kind == kind_.number && record->version > kind_.versions.newest) return std::nullopt;
    const auto in_order = std::min(step * node_.names()->rank(name_), last_step);
    if (!record || record->next.empty()) return in_order;
    return record->next == node_.name() ? nanoseconds(0) : for_the_next + in_order;
}

/// Runs the actor as long as this node has the name. \returns how long to leave the name to others after that
placed_core::nanoseconds placed_core::live(const std::shared_ptr<held_name>& mine, std::uint64_t serial,
                                           nanoseconds rest_before) {
    const auto began = weft::now();
    const auto self = std::make_shared<life>(shared_from_this(), mine->token);
    struct at_the_end {  // also if the keeper is stopped
        ~at_the_end() {
            {
                const lock held(core.lock_);
                self.is_over = true;
                core.now_ = nullptr;
                core.touch();
            }
            if (self.actor) weft::detail::actor_kill(self.actor.core());
            core.node_.unexpose(serial);
        }
        placed_core& core;
        life& self;
        const std::uint64_t serial;
    };
    auto how = outcome::failed;
    {
        const at_the_end cleaned{*this, *self, serial};
        if (begin(*mine, self, serial)) how = keep(*mine, *self, serial);
    }
    if (self->told) {  // PLACED-4
        exit_reason why;
        static_cast<void>(self->told->receive_for(why, to_die));
    }
    node_.names()->release(*mine);
    if (how == outcome::failed && self->end) report(*self->end);
    tell(how == outcome::left);
    if (how != outcome::failed) return nanoseconds(0);
    return weft::now() - began > long_enough ? first_rest : std::clamp(rest_before * 2, first_rest, longest_rest);
}

/// Reads the record, makes the actor and exposes it. \returns whether that went well
bool placed_core::begin(const held_name& mine, const std::shared_ptr<life>& self, std::uint64_t serial) {
    std::optional<stored> found;
    const auto patience = weft::now() + node_.lease();
    for (bool is_read = false; !is_read;) {
        try {
            found = node_.names()->store().find(state_key());
            is_read = true;
        } catch (const std::system_error&) {
            if (!holds(mine) || !rest_for(first_rest)) return false;
            if (weft::now() < patience) continue;
            self->end = failure_of(std::current_exception());  // the lease is renewed, so this is no outage
            return false;
        }
    }
    std::optional<state_bytes> from;
    if (found) {
        auto record = placed_record::in(found->value);
        if (!record || record->kind != kind_.number || record->version < kind_.versions.oldest ||
            record->version > kind_.versions.newest) {
            self->end =
                failure_of(errc::bad_version, "weft: what the store has of '" + name_ + "' is no '" + std::string(kind_.name) +
                                                  "' of versions " + std::to_string(kind_.versions.oldest) + " to " +
                                                  std::to_string(kind_.versions.newest));
            return false;
        }
        self->before = std::move(*record);
        self->before_token = found->token;
        from = state_bytes{.bytes = self->before.state, .version = self->before.version};
    }
    try {
        auto how = options_.actor;
        how.name = actor_name_;
        auto actor = kind_.make(how, self, from, mine.token);
        self->told = weft::detail::actor_monitor(actor.core());  // before its constructor can throw
        {
            const lock held(lock_);
            self->given_at = weft::now();
            self->actor = actor;
            now_ = self;
        }
        weft::detail::start_actor(actor.core(), "weft::cluster::place");
        node_.expose_as(serial, std::move(actor), kind_.entries, [of = shared_from_this(), self](const exit_reason& why) {
            const lock held(of->lock_);
            self->end = why;
            of->touch();
        });
        return true;
    } catch (const weft::cancelled&) {
        throw;
    } catch (...) {
        self->end = failure_of(std::current_exception());
        return false;
    }
}

/// The keeper's part while the actor lives.
placed_core::outcome placed_core::keep(const held_name& mine, life& self, std::uint64_t serial) {
    lock held(lock_);
    for (;;) {
        const auto seen = events_;
        if (!holds(mine)) return outcome::lost;
        if (self.given) {
            if (store(held, mine, self)) continue;
            if (!holds(mine)) return outcome::lost;  // PLACED-5
            return ends_ && weft::now() >= end_until_ ? outcome::killed : outcome::failed;
        }
        if (self.end) return self.has_given_last ? outcome::left : outcome::failed;
        auto until = let_leave(held, self, serial);
        if (ends_ && !self.is_last && weft::now() >= end_until_) return outcome::killed;
        if (options_.when == checkpoint::in_background) until = std::min(until, ask_for_state(self));
        // While the lock was given up, what was looked at above may have changed.
        if (events_ == seen) changed_.wait_until(held, until);
    }
}

/// Asks the actor for its state if that is due. \returns when to look again
time_point placed_core::ask_for_state(life& self) {
    if (!self.is_changed || self.is_asked) return weft::detail::never;
    const auto due = self.given_at + options_.every;
    if (weft::now() < due) return due;
    // A mailbox without room has messages, and after the next one the state is given anyway.
    weft::detail::reserved_room room(self.actor.core());
    if (!room) return weft::now() + options_.every;
    self.is_asked = true;
    room.post(kind_.save_now());
    return weft::detail::never;
}

/// Stores what was given. \returns whether it is stored. If not, the name is lost, or the time of end() is over, or
///          `self.end` says why it cannot be
bool placed_core::store(lock& held, const held_name& mine, life& self) {
    placed_record next{.token = mine.token,
                       .number = self.before.number + 1,
                       .kind = kind_.number,
                       .version = kind_.versions.newest,
                       .next = self.has_given_last && departure_ ? departure_->to : "",
                       .state = std::move(*self.given)};
    self.given.reset();
    const auto times = self.times_given;
    held.unlock();
    std::exception_ptr failure;
    const auto token = put(next.text(), self.before_token, mine, failure);
    self.before = std::move(next);
    held.lock();
    if (failure) self.end = failure_of(std::move(failure));
    if (!token) return false;
    self.before_token = *token;
    self.times_stored = times;
    touch();
    return true;
}

/// \returns the token of the record; nothing if it is not stored: `failure` says why, unless the name is lost or the
///          time of end() is over
std::optional<std::uint64_t> placed_core::put(const std::string& text, std::uint64_t before, const held_name& mine,
                                              std::exception_ptr& failure) {
    const auto key = state_key();
    for (const auto patience = weft::now() + node_.lease();;) {
        std::exception_ptr trouble;
        try {
            if (const auto token = node_.put_as_owner(key, text, before, name_, mine.token)) return token;
            const auto there = node_.names()->store().find(key);
            if (there && there->value == text) return there->token;  // an earlier try was done
            if (holds(mine))
                failure = std::make_exception_ptr(error(
                    errc::not_owner, "weft: what the store has of '" + name_ + "' was changed, and not by its owner", false));
            return std::nullopt;
        } catch (const std::system_error&) {  // perhaps it is done, perhaps it will be
            trouble = std::current_exception();
        }
        weft::this_fiber::sleep_for(first_rest);
        if (!holds(mine)) return std::nullopt;
        if (weft::now() >= patience) {  // the lease is renewed all the time, so this is no outage
            failure = trouble;
            return std::nullopt;
        }
        const lock again(lock_);
        if (ends_ && weft::now() >= end_until_) return std::nullopt;
    }
}

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

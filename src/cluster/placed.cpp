// placed.cpp - the keeper: which node's turn it is, a life from its beginning to its end, and its checkpoints.
#include "cluster/placed.hpp"

#include <algorithm>
#include <utility>

#include <weft/cluster/error.hpp>
#include <weft/fiber.hpp>
#include <weft/simulation.hpp>

#include "cluster/node_core.hpp"
#include "cluster/placed_life.hpp"

namespace weft::cluster::detail {
namespace {

using namespace std::chrono_literals;

// All chosen: a node of a lower rank waits a step for each one before it, and for the node that an actor was
// moved to longer than that one needs to see it.
constexpr std::chrono::nanoseconds step = 100ms, last_step = 1s, for_the_next = 2s;
constexpr std::chrono::nanoseconds longest_rest = 30s, long_enough = 60s;

exit_reason failure_of(std::exception_ptr what) { return {.kind = exit_kind::failed, .failure = std::move(what)}; }
exit_reason failure_of(errc why, const std::string& text) { return failure_of(std::make_exception_ptr(error(why, text, false))); }

}  // namespace

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

}  // namespace weft::cluster::detail

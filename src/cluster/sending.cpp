// sending.cpp - what a node sends: contact, credit, batches; and how an epoch ends.
#include <weft/deadline.hpp>
#include <weft/simulation.hpp>
#include <weft/stop.hpp>

#include "cluster/node_core.hpp"
#include "cluster/subject.hpp"

namespace weft::cluster::detail {
namespace {

constexpr std::size_t largest_batch = 64 * 1024;  // chosen: a batch that is full is worth a write of its own

std::string called(const contact& c) { return "node '" + c.name + "'"; }

exit_reason reason_of(errc why, std::string_view text) {
    return {.kind = exit_kind::failed, .failure = std::make_exception_ptr(error(why, "weft: " + std::string(text), true))};
}

}  // namespace

void node_core::require_not_closed() {
    const lock guard(lock_);
    if (is_closed_) throw_closed();
}

void node_core::throw_closed() const { throw error(errc::closed, "weft: node '" + options_.name + "' is closed", false); }

void node_core::require_open() const {
    if (is_closed_) throw_closed();
    if (incarnation_ == 0)
        throw error(errc::no_lease,
                    "weft: node '" + options_.name +
                        "' has no lease now: the store of names is out of reach, or a node of this name is there",
                    false);
}

std::shared_ptr<contact> node_core::contact_with(const std::string& name, std::uint64_t incarnation) {
    auto& c = contacts_[{name, incarnation}];
    if (!c) c = std::make_shared<contact>(name, incarnation);
    return c;
}

/// \parks until there is contact \throws error (closed, unreachable, node_gone)
std::shared_ptr<contact> node_core::open_contact(lock& guard, const remote_address& to, time_point until) {
    require_open();
    if (to.node == options_.name && to.incarnation != incarnation_)
        throw error(errc::node_gone, "weft: that life of node '" + options_.name + "' has ended", false);
    auto c = contact_with(to.node, to.incarnation);
    if (c->has_left) throw error(errc::node_gone, "weft: " + called(*c) + " has ended", false);
    if (c->is_open()) return c;
    if (c->numbers.now() == epoch::phase::idle) {
        c->numbers.begin(++last_half_);
        c->began = weft::now();
        queue_hello(*c);
        flush(guard, c);
    }
    ++c->waiting;
    const auto wait = [&] {
        return c->changed.wait_until(guard, until, [&] { return c->numbers.now() != epoch::phase::opening; });
    };
    bool in_time = false;
    try {
        in_time = wait();
    } catch (...) {
        --c->waiting;
        throw;
    }
    --c->waiting;
    require_open();
    if (!in_time) throw timeout_error("weft: no contact with the other node in time");
    if (!c->is_open()) {
        if (c->has_left) throw error(errc::node_gone, "weft: " + called(*c) + " has ended", false);
        throw error(errc::unreachable, "weft: " + called(*c) + " is unreachable", false);
    }
    return c;
}

/// Takes the room of one message to an actor. \parks while there is none
void node_core::take_credit(lock& guard, const std::shared_ptr<contact>& c, std::uint64_t serial, time_point until) {
    const auto of = c->numbers.halves();
    auto& entry = c->targets[serial];
    if (!entry) entry = std::make_shared<target>(c->their_credit);
    const auto t = entry;
    if (t->credit == 0) {
        ++c->waiting;
        ++t->waiting;
        bool in_time = false;
        const auto leave = [&] {
            --c->waiting;
            // All room has come back, and nobody has taken any: as if nothing was ever sent.
            if (--t->waiting == 0 && c->numbers.halves() == of && t->credit == c->their_credit) c->targets.erase(serial);
        };
        try {
            in_time = t->room.wait_until(guard, until, [&] { return t->credit > 0 || c->numbers.halves() != of || is_closed_; });
        } catch (...) {
            leave();
            throw;
        }
        if (in_time)
            --c->waiting, --t->waiting;
        else
            leave();
        require_open();
        if (c->numbers.halves() != of) throw error(errc::node_gone, "weft: the contact with " + called(*c) + " was lost", false);
        if (!in_time) throw timeout_error("weft: the actor on the other node took no message in time");
    }
    --t->credit;
}

/// \throws error (bad_version)
std::uint32_t node_core::version_for(const contact& c, const outgoing& m) const {
    // A message that no actor of the node reads is refused there: an actor that does may have been exposed
    // since.
    const auto found = c.reads.find(m.number);
    if (found == c.reads.end()) return m.versions.newest;
    const auto version = std::min(m.versions.newest, found->second.newest);
    if (version >= m.versions.oldest && version >= found->second.oldest) return version;
    throw error(errc::bad_version,
                "weft: '" + std::string(m.name) + "' has versions " + std::to_string(m.versions.oldest) + " to " +
                    std::to_string(m.versions.newest) + " here, and " + std::to_string(found->second.oldest) + " to " +
                    std::to_string(found->second.newest) + " on " + called(c),
                false);
}

/// Appends the message as frames have it: the actor, its name's token, the message's number and version, its
/// bytes. \throws error (too_large)
void node_core::write(byte_vector& into, const remote_address& to, const outgoing& m, std::uint32_t version) const {
    put(into, to.serial);
    put(into, to.token);
    put(into, m.number);
    put(into, version);
    write_payload(into, m, version);
}

void node_core::write_payload(byte_vector& into, const outgoing& m, std::uint32_t version) const {
    const auto before = into.size();
    m.write(m.value, version, into);
    if (const auto bytes = into.size() - before; bytes > options_.max_message_bytes)
        throw error(errc::too_large,
                    "weft: '" + std::string(m.name) + "' has " + std::to_string(bytes) + " bytes, and at most " +
                        std::to_string(options_.max_message_bytes) + " may be sent",
                    false);
}

void node_core::send(const remote_address& to, const outgoing& m, time_point until) {
    lock guard(lock_);
    const auto version = version_for(*open_contact(guard, to, until), m);
    guard.unlock();
    byte_vector body;
    write(body, to, m, version);
    guard.lock();
    const auto c = open_contact(guard, to, until);
    if (const auto refused = c->disowned.find(to.token); refused != c->disowned.end()) {
        if (weft::now() < refused->second)
            throw error(errc::not_owner, "weft: the actor does not have that name any more", false);
        c->disowned.erase(refused);
    }
    take_credit(guard, c, to.serial, until);
    queue_frame(*c, frame_kind::send, body);
    flush(guard, c);
}

remote_answer node_core::ask(const remote_address& to, const outgoing& m, time_point until) {
    lock guard(lock_);
    const auto version = version_for(*open_contact(guard, to, until), m);
    guard.unlock();
    byte_vector message;
    write(message, to, m, version);
    guard.lock();
    const auto c = open_contact(guard, to, until);
    take_credit(guard, c, to.serial, until);
    const auto id = ++last_id_;
    byte_vector body;
    put(body, id);
    put(body, ns_until(until));
    body.insert(body.end(), message.begin(), message.end());
    pending_ask mine;
    c->asks.emplace(id, &mine);   // NODE_CORE-2
    queue_frame(*c, frame_kind::ask, body);
    flush(guard, c);
    try {
        mine.changed.wait_until(guard, until, [&] { return mine.done; });
    } catch (...) {
        c->asks.erase(id);
        throw;
    }
    if (!mine.done) {
        c->asks.erase(id);
        throw timeout_error("weft: the actor on the other node did not answer in time");
    }
    guard.unlock();
    end_of_ask(mine);
    return std::move(mine.answer);
}

receiver<exit_reason> node_core::monitor(const remote_address& to) {
    channel<exit_reason> told(1);
    lock guard(lock_);
    const auto c = open_contact(guard, to, weft::detail::never);
    const bool is_first = !c->monitors.contains(to.serial);
    c->monitors.emplace(to.serial, told.tx());
    if (is_first) {
        byte_vector body;
        put(body, to.serial);
        queue_frame(*c, frame_kind::monitor, body);
        flush(guard, c);
    }
    return told.rx();
}

void node_core::queue_batch(contact& c, byte_vector bytes) {
    c.ready.push_back(std::move(bytes));
    c.frames_at = 0;
}

void node_core::queue_frame(contact& c, frame_kind kind, std::span<const std::byte> body) {
    const auto number = c.numbers.number();
    if (c.frames_at == 0 || c.ready.empty() || c.ready.back().size() + body.size() > largest_batch) {
        auto b = begin_batch({.kind = batch_kind::frames, .incarnation = incarnation_, .halves = c.numbers.halves()});
        put(b, number);
        queue_batch(c, std::move(b));
    }
    put(c.ready.back(), static_cast<std::uint8_t>(kind));
    put(c.ready.back(), body);
    ++c.frames_at;
    ++stats_.sent;
}

void node_core::queue_hello(contact& c) {
    auto b = begin_batch({.kind = batch_kind::hello, .incarnation = incarnation_, .halves = c.numbers.halves()});
    put(b, options_.credit);
    std::map<std::uint64_t, wire_versions> reads;
    for (const auto& [_, e] : exposed_)
        for (const auto& entry : e->entries) reads.emplace(entry.number, entry.versions);
    for (const auto& [number, versions] : reads) {
        put(b, number);
        put(b, versions.newest);
        put(b, versions.oldest);
    }
    queue_batch(c, std::move(b));
}

void node_core::queue_reset(contact& c, epoch_halves their) {
    if (their.yours == 0) return;
    queue_batch(
        c, begin_batch(
               {.kind = batch_kind::reset, .incarnation = incarnation_, .halves = {.mine = their.yours, .yours = their.mine}}));
}

void node_core::queue_beat(contact& c) {
    auto b = begin_batch({.kind = batch_kind::beat, .incarnation = incarnation_, .halves = c.numbers.halves()});
    put(b, c.numbers.sent());
    put(b, c.numbers.seen());
    put(b, c.echo);
    put(b, static_cast<std::uint8_t>(c.is_expecting()));
    c.reported = c.numbers.seen();
    c.wants_beat = false;
    queue_batch(c, std::move(b));
}

/// Publishes what is ready, unless another fiber does so (NODE_CORE-1). Gives the lock up meanwhile.
void node_core::flush(lock& guard, const std::shared_ptr<contact>& c) noexcept {
    if (c->is_flushing) return;
    c->is_flushing = true;
    const auto life = incarnation_;
    const auto subject = batch_subject(options_.cluster, c->name, c->incarnation, options_.name);
    const auto refusals =
        reply_subject(options_.cluster, options_.name, life) + ".n" + std::to_string(c->incarnation) + "-" + c->name;
    const shield until_sent;   // a batch that is taken must not be lost by a stop of the fiber that happens to publish it
    while (!c->ready.empty()) {
        const auto batch = std::move(c->ready.front());
        c->ready.pop_front();
        if (c->ready.empty()) c->frames_at = 0;
        guard.unlock();
        std::string failure;
        try {
            options_.words->publish(subject, refusals, batch);
        } catch (const std::exception& e) {
            failure = e.what();
        }
        guard.lock();
        if (!failure.empty()) end_epoch(*c, errc::node_gone, "the transport failed: " + failure, false);
    }
    c->is_flushing = false;
}

/// This node ends the epoch.
void node_core::end_epoch(contact& c, errc why, std::string_view text, bool tell) {
    if (c.numbers.now() == epoch::phase::idle) return;
    const auto halves = c.numbers.halves();
    const bool was_open = c.is_open();
    c.numbers.end();
    told_ended(c, why, text);
    if (tell && was_open) queue_reset(c, {.mine = halves.yours, .yours = halves.mine});
}

/// NODE_CORE-3
void node_core::told_ended(contact& c, errc why, std::string_view text) {
    const auto what = "the contact with " + called(c) + " was lost: " + std::string(text);
    if (!c.is_probing) ++stats_.epochs_lost;   // else nothing was expected of the other node
    c.ready.clear();
    c.frames_at = 0;
    for (auto& [_, a] : std::exchange(c.asks, {})) {
        a->done = true;
        a->failed = why;
        a->text = what;
        a->changed.notify_all();
    }
    if (!c.monitors.empty() || !c.links.empty()) {
        const auto reason = reason_of(why, what);
        lose_links(c, reason);
        for (auto& [_, told] : std::exchange(c.monitors, {})) {
            auto copy = reason;
            static_cast<void>(told.try_send(copy));
        }
    }
    for (auto& [_, t] : std::exchange(c.targets, {})) t->room.notify_all();
    c.monitored.clear();
    c.disowned.clear();
    // What is held back is posted all the same, and before what comes in the next epoch (NODE_CORE-4).
    std::erase_if(c.inbound_of, [](const auto& of) { return !of.second->is_admitting; });
    for (auto& [_, of] : c.inbound_of) of->owed = 0;
    c.answers_owed = 0;
    c.marked = c.reported = c.echo = 0;
    c.wants_beat = c.is_suspected = c.is_probing = false;
    c.changed.notify_all();
}

}  // namespace weft::cluster::detail

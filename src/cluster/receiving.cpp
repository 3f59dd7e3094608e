// receiving.cpp - what arrives from other nodes.
#include <weft/deadline.hpp>
#include <weft/simulation.hpp>

#include <algorithm>

#include "cluster/node_core.hpp"
#include "cluster/subject.hpp"

namespace weft::cluster::detail {

/// \returns the contact with a node that was heard of; null if too many lives of that node are known
std::shared_ptr<contact> node_core::contact_from(const std::string& name, std::uint64_t incarnation) {
    constexpr auto most_lives = 64;  // chosen: lives of a node within give_up; a node that lies could make up any number
    const auto first = contacts_.lower_bound({name, 0});
    const auto end = contacts_.upper_bound({name, std::numeric_limits<std::uint64_t>::max()});
    if (!contacts_.contains({name, incarnation}) && std::distance(first, end) >= most_lives) return nullptr;
    return contact_with(name, incarnation);
}

void node_core::on_batch(const carried& m) {
    byte_reader in(m.payload);
    batch_head head;
    if (!read_head(in, head)) {
        const lock guard(lock_);
        ++stats_.refused;
        return;
    }
    std::shared_ptr<contact> c;
    lock guard(lock_);
    if (is_closed_ || incarnation_ == 0) return;
    c = contact_from(std::string(last_word(m.subject)), head.incarnation);
    if (!c) {
        ++stats_.refused;
        return;
    }
    c->last_heard = weft::now();
    c->is_suspected = c->is_probing = false;
    switch (head.kind) {
        case batch_kind::hello: on_hello(guard, c, head.halves, in); break;
        case batch_kind::beat: on_beat(guard, c, head.halves, in); break;
        case batch_kind::reset: apply(guard, c, c->numbers.on_reset(head.halves), head.halves); break;
        case batch_kind::goodbye:
            c->has_left = true;
            end_epoch(*c, errc::node_gone, "it has ended", false);
            c->changed.notify_all();
            break;
        case batch_kind::frames:
            guard.unlock();
            on_frames(c, head.halves, in);
            guard.lock();
            break;
    }
    flush(guard, c);
}

/// Does what the epoch says. \returns whether the message counts
bool node_core::apply(lock&, const std::shared_ptr<contact>& c, epoch::step s, epoch_halves their) {
    if (s.has_ended) told_ended(*c, errc::node_gone, s.why);
    if (s.says_hello) queue_hello(*c);
    if (s.says_reset) queue_reset(*c, their);
    return s.accepted;
}

void node_core::on_hello(lock& guard, const std::shared_ptr<contact>& c, epoch_halves their, byte_reader& in) {
    const auto credit = in.number<std::uint32_t>();
    std::map<std::uint64_t, wire_versions> reads;
    while (!in.at_end()) {
        const auto number = in.number<std::uint64_t>();
        const auto newest = in.number<std::uint32_t>(), oldest = in.number<std::uint32_t>();
        reads.insert_or_assign(number, wire_versions(newest, oldest));
    }
    if (in.failed() || credit < 2 || credit > 65536) {
        ++stats_.refused;
        return;
    }
    if (apply(guard, c, c->numbers.on_hello(their, last_half_ + 1), their)) {
        last_half_ = std::max(last_half_, c->numbers.halves().mine);
        c->their_credit = credit;
        c->reads = std::move(reads);
        ++stats_.epochs_begun;
        c->expecting_since = weft::now();
        c->changed.notify_all();
    }
}

void node_core::on_beat(lock& guard, const std::shared_ptr<contact>& c, epoch_halves their, byte_reader& in) {
    const auto sent = in.number<std::uint64_t>(), seen = in.number<std::uint64_t>(), echo = in.number<std::uint64_t>();
    const bool wants = in.number<std::uint8_t>() != 0;
    if (in.failed()) {
        ++stats_.refused;
        return;
    }
    if (!apply(guard, c, c->numbers.on_beat(their, sent, seen), their)) return;
    c->echo = sent;
    c->wants_beat = c->wants_beat || wants;
    if (c->marked != 0 && c->numbers.confirmed() >= c->marked) c->marked = 0;
    // It has read a beat that went behind the marked frame, and not that frame. Or it reads no beat of ours.
    if (c->marked != 0 && (echo >= c->marked || weft::now() - c->marked_at > options_.give_up))
        end_epoch(*c, errc::node_gone, "a message to it was lost", true);
}

/// NODE_CORE-6
bool node_core::is_current(const contact& c, epoch_halves their) noexcept {
    return c.is_open() && c.numbers.halves() == epoch_halves{.mine = their.yours, .yours = their.mine};
}

void node_core::on_frames(const std::shared_ptr<contact>& c, epoch_halves their, byte_reader& in) {
    auto number = in.number<std::uint64_t>();
    while (!in.at_end()) {
        const auto kind = in.number<std::uint8_t>();
        const auto body = in.bytes();
        if (in.failed()) break;
        {
            lock guard(lock_);
            const auto step = c->numbers.on_frame(their, number, faults_.accepts_gaps);
            if (!apply(guard, c, step, their)) return;
            ++stats_.received;
        }
        ++number;
        if (on_frame(c, their, static_cast<frame_kind>(kind), body)) continue;
        lock guard(lock_);
        ++stats_.refused;
        if (is_current(*c, their)) end_epoch(*c, errc::node_gone, "it has sent what is no frame of this release", true);
        return;
    }
}

/// \returns false if it breaks the rules
bool node_core::on_frame(const std::shared_ptr<contact>& c, epoch_halves their, frame_kind kind,
                         std::span<const std::byte> body) {
    byte_reader in(body);
    switch (kind) {
        case frame_kind::send: return on_message(c, their, in, false);
        case frame_kind::ask: return on_message(c, their, in, true);
        case frame_kind::answer:
        case frame_kind::failure: {
            const auto id = in.number<std::uint64_t>();
            lock guard(lock_);
            const auto found = c->asks.find(id);
            if (found == c->asks.end()) return !in.failed();   // the asker has given up
            auto& a = *found->second;
            if (kind == frame_kind::answer) {
                a.answer.version = in.number<std::uint32_t>();
                const auto payload = in.bytes();
                a.answer.bytes.assign(payload.begin(), payload.end());
            } else {
                const auto code = in.number<std::uint8_t>();
                const auto how = static_cast<exit_kind>(in.number<std::uint8_t>());
                if (how > exit_kind::failed) return false;
                a.text = in.text();
                if (code == actor_has_ended)
                    a.ended = how;
                else
                    a.failed = static_cast<errc>(code);
                a.maybe_handled = may_be_handled(static_cast<errc>(code));
            }
            a.done = true;
            a.changed.notify_all();
            c->asks.erase(found);
            return !in.failed();
        }
        case frame_kind::monitor: {
            const auto serial = in.number<std::uint64_t>();
            if (in.failed()) return false;
            lock guard(lock_);
            if (!is_current(*c, their)) return true;
            if (exposed_.contains(serial)) {
                c->monitored.insert(serial);
                return true;
            }
            const auto ended = ended_.find(serial);
            byte_vector down;
            put(down, serial);
            put(down, static_cast<std::uint8_t>(ended == ended_.end() ? exit_kind::normal : ended->second.how));
            put(down, std::string_view(ended == ended_.end() ? "the node exposes it no longer" : ended->second.text));
            queue_frame(*c, frame_kind::down, down);
            return true;
        }
        case frame_kind::disowned: return on_disowned(*c, their, in);
        case frame_kind::down: return on_down(*c, their, in);
        case frame_kind::link: return on_link(c, their, in);
        case frame_kind::link_end: return on_link_end(*c, their, in);
        case frame_kind::credit: {
            const auto serial = in.number<std::uint64_t>();
            const auto n = in.number<std::uint32_t>();
            lock guard(lock_);
            if (!is_current(*c, their)) return true;
            const auto found = c->targets.find(serial);
            if (in.failed() || found == c->targets.end() || n > c->their_credit - found->second->credit) return false;
            auto& t = *found->second;
            t.credit += n;
            t.room.notify_all();
            if (t.credit == c->their_credit && t.waiting == 0) c->targets.erase(found);  // as if nothing was ever sent
            return true;
        }
    }
    return false;
}

/// A message was refused since its actor does not have the name by which it was found.
bool node_core::on_disowned(contact& c, epoch_halves their, byte_reader& in) {
    const auto token = in.number<std::uint64_t>();
    const lock guard(lock_);
    if (!is_current(c, their)) return true;
    if (in.failed() || token == 0) return false;
    // Believed for a while only: the answer to its owner's claim may have been under way.
    constexpr auto believed = std::chrono::seconds(1);
    constexpr std::size_t most = 1024;  // chosen: what a peer can make us keep
    if (c.disowned.size() == most) c.disowned.clear();
    c.disowned.insert_or_assign(token, weft::now() + believed);
    return true;
}

bool node_core::on_down(contact& c, epoch_halves their, byte_reader& in) {
    const auto serial = in.number<std::uint64_t>();
    exit_reason why{.kind = static_cast<exit_kind>(in.number<std::uint8_t>())};
    const auto text = in.text();
    if (in.failed() || why.kind > exit_kind::failed) return false;
    if (why.kind == exit_kind::failed)
        why.failure = std::make_exception_ptr(error(errc::failed_remotely, std::string(text), true));
    const lock guard(lock_);
    if (!is_current(c, their)) return true;
    const auto [first, last] = c.monitors.equal_range(serial);
    for (auto i = first; i != last; ++i) {
        auto copy = why;
        static_cast<void>(i->second.try_send(copy));
    }
    c.monitors.erase(first, last);
    return true;
}

/// Throws what an ask has ended with, if not with an answer.
void node_core::end_of_ask(pending_ask& a) {
    if (a.ended) {
        exit_reason why{.kind = *a.ended};
        if (why.kind == exit_kind::failed) why.failure = std::make_exception_ptr(error(errc::failed_remotely, a.text, true));
        throw actor_gone("an actor of another node", std::move(why));
    }
    if (a.failed) throw error(*a.failed, "weft: " + a.text, a.maybe_handled);
}

}  // namespace weft::cluster::detail

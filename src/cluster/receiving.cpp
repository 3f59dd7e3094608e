// receiving.cpp - what arrives from other nodes.
#include <weft/deadline.hpp>
#include <weft/simulation.hpp>

#include <algorithm>

#include "actor/actor_core.hpp"
#include "cluster/node_core.hpp"
#include "cluster/subject.hpp"

namespace weft::cluster::detail {
namespace {

/// The way back to an asker on another node.
class path_to_contact final : public answer_path {
public:
    path_to_contact(std::shared_ptr<node_core> by, std::shared_ptr<contact> to, epoch_halves of, std::uint64_t id,
                    time_point until)
        : by_(std::move(by)), to_(std::move(to)), of_(of), id_(id), until_(until) {}
    ~path_to_contact() override {
        path_to_contact::fail(errc::not_answered, "the actor has ended, or took the message without an answer");
    }

    bool is_late() const noexcept override { return weft::now() >= until_; }
    void answer(std::span<const std::byte> bytes, std::uint32_t version) noexcept override {
        if (std::exchange(is_answered_, true)) return;
        by_->answered(to_, of_, id_, bytes, version);
    }
    void fail(errc why, std::string_view text) noexcept override {
        if (std::exchange(is_answered_, true)) return;
        by_->failed(to_, of_, id_, static_cast<std::uint8_t>(why), exit_kind::normal, text);
    }

private:
    std::shared_ptr<node_core> by_;
    std::shared_ptr<contact> to_;
    const epoch_halves of_;
    const std::uint64_t id_;
    const time_point until_;
    bool is_answered_ = false;
};

time_point deadline_after_ns(std::int64_t left) noexcept {
    return left == std::numeric_limits<std::int64_t>::max() ? weft::detail::never
                                                            : weft::detail::deadline_in(std::chrono::nanoseconds(left));
}

}  // namespace

void fail_with_current(answer_path& path) noexcept {
    try {
        throw;
    } catch (const std::exception& e) {
        path.fail(errc::failed_remotely, e.what());
    } catch (...) {
        path.fail(errc::failed_remotely, "something that is no std::exception");
    }
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
    c = contact_with(std::string(last_word(m.subject)), head.incarnation);
    c->last_heard = weft::now();
    c->is_suspected = false;
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
    if (!c->is_open()) c->their_credit = credit;
    c->reads = std::move(reads);
    if (apply(guard, c, c->numbers.on_hello(their, last_half_ + 1), their)) {
        last_half_ = std::max(last_half_, c->numbers.halves().mine);
        c->their_credit = credit;
        ++stats_.epochs_begun;
        c->expecting_since = weft::now();
        c->changed.notify_all();
    }
}

void node_core::on_beat(lock& guard, const std::shared_ptr<contact>& c, epoch_halves their, byte_reader& in) {
    const auto sent = in.number<std::uint64_t>(), seen = in.number<std::uint64_t>();
    const bool wants = in.number<std::uint8_t>() != 0;
    if (in.failed()) {
        ++stats_.refused;
        return;
    }
    const bool was_open = c->is_open();
    if (!apply(guard, c, c->numbers.on_beat(their, sent, seen), their)) return;
    if (!was_open) c->changed.notify_all();
    c->wants_beat = c->wants_beat || wants;
    if (c->marked != 0 && c->numbers.confirmed() >= c->marked) c->marked = 0;
    if (c->marked != 0 && weft::now() - c->marked_at > options_.longest_difference)
        end_epoch(*c, errc::node_gone, "a message to it was lost", true);
}

void node_core::on_frames(const std::shared_ptr<contact>& c, epoch_halves their, byte_reader& in) {
    auto number = in.number<std::uint64_t>();
    while (!in.at_end()) {
        const auto kind = in.number<std::uint8_t>();
        const auto body = in.bytes();
        if (in.failed()) break;
        {
            lock guard(lock_);
            const bool was_open = c->is_open();
            auto step = c->numbers.on_frame(their, number);
            if (faults_.accepts_gaps && step.has_ended) return;   // planted: the frame is dropped, and nothing else
            if (!apply(guard, c, step, their)) return;
            if (!was_open) c->changed.notify_all();
            ++stats_.received;
        }
        ++number;
        if (on_frame(c, their, static_cast<frame_kind>(kind), body)) continue;
        lock guard(lock_);
        ++stats_.refused;
        end_epoch(*c, errc::node_gone, "it has sent what is no frame of this release", true);
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
                a.text = in.text();
                if (code == actor_has_ended)
                    a.ended = how;
                else
                    a.failed = static_cast<errc>(code);
                a.maybe_handled = code == static_cast<std::uint8_t>(errc::failed_remotely) ||
                                  code == static_cast<std::uint8_t>(errc::not_answered);
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
        case frame_kind::down: return on_down(*c, in);
        case frame_kind::credit: {
            const auto serial = in.number<std::uint64_t>();
            const auto n = in.number<std::uint32_t>();
            lock guard(lock_);
            const auto found = c->targets.find(serial);
            if (in.failed() || found == c->targets.end() || n > c->their_credit - found->second->credit) return false;
            found->second->credit += n;
            found->second->room.notify_all();
            return true;
        }
    }
    return false;
}

bool node_core::on_down(contact& c, byte_reader& in) {
    const auto serial = in.number<std::uint64_t>();
    exit_reason why{.kind = static_cast<exit_kind>(in.number<std::uint8_t>())};
    const auto text = in.text();
    if (in.failed() || why.kind > exit_kind::failed) return false;
    if (why.kind == exit_kind::failed)
        why.failure = std::make_exception_ptr(error(errc::failed_remotely, std::string(text), true));
    const lock guard(lock_);
    const auto [first, last] = c.monitors.equal_range(serial);
    for (auto i = first; i != last; ++i) {
        auto copy = why;
        static_cast<void>(i->second.try_send(copy));
    }
    c.monitors.erase(first, last);
    return true;
}

bool node_core::on_message(const std::shared_ptr<contact>& c, epoch_halves their, byte_reader& in, bool asked) {
    const auto id = asked ? in.number<std::uint64_t>() : 0;
    const auto left = asked ? in.number<std::int64_t>() : 0;
    const auto serial = in.number<std::uint64_t>(), number = in.number<std::uint64_t>();
    const auto version = in.number<std::uint32_t>();
    if (in.failed()) return false;
    const epoch_halves of{.mine = their.yours, .yours = their.mine};
    std::unique_ptr<answer_path> path;
    std::shared_ptr<exposed> to;
    {
        lock guard(lock_);
        const auto found = exposed_.find(serial);
        if (found != exposed_.end()) to = found->second;
        if (asked) ++c->answers_owed;
        if (!to) {
            // Nothing takes the message, so its room is free at once.
            auto& in_of = c->inbound_of[serial];
            if (!in_of) in_of = std::make_shared<inbound>();
            give_credit(guard, c, serial, *in_of, 1);
            if (!asked) return true;
            std::optional<ended_actor> ended;
            if (const auto known = ended_.find(serial); known != ended_.end()) ended = known->second;
            guard.unlock();
            if (ended)
                failed(c, of, id, actor_has_ended, ended->how, ended->text);
            else
                failed(c, of, id, static_cast<std::uint8_t>(errc::not_exposed), exit_kind::normal,
                       "the node exposes no such actor");
            return true;
        }
    }
    if (asked) path = std::make_unique<path_to_contact>(shared_from_this(), c, of, id, deadline_after_ns(left));
    const auto entry = std::ranges::find(to->entries, number, &wire_entry::number);
    wire_message made;
    if (entry == to->entries.end()) {
        if (path)
            path->fail(errc::unknown_message, "actor '" + std::string(weft::detail::actor_name(to->actor.core())) +
                                                  "' takes no such message from other nodes");
    } else if (version < entry->versions.oldest || version > entry->versions.newest) {
        if (path)
            path->fail(errc::bad_version,
                       "'" + std::string(entry->name) + "' has no version " + std::to_string(version) + " there");
    } else {
        try {
            made = entry->make(in.rest(), version, path);
        } catch (const std::exception& e) {
            if (path) path->fail(errc::bad_message, e.what());
        }
    }
    if (made) return deliver(c, to, std::move(made));
    lock guard(lock_);
    if (!asked) ++stats_.refused;
    auto& in_of = c->inbound_of[serial];
    if (!in_of) in_of = std::make_shared<inbound>();
    give_credit(guard, c, serial, *in_of, 1);
    return true;
}

/// NODE_CORE-4. Called by the reader only. \returns false if the sender has ignored its credit (NODE_CORE-5)
bool node_core::deliver(const std::shared_ptr<contact>& c, const std::shared_ptr<exposed>& to, wire_message m) {
    std::shared_ptr<inbound> in_of;
    {
        const lock guard(lock_);
        auto& entry = c->inbound_of[to->serial];
        if (!entry) entry = std::make_shared<inbound>();
        in_of = entry;
        if (in_of->is_admitting) {
            const bool has_place = in_of->held_back.size() < options_.credit;
            if (has_place) in_of->held_back.push_back(std::move(m));
            return has_place;
        }
    }
    if (weft::detail::reserved_room room(to->actor.core()); room) {
        room.post(std::move(m));
        lock guard(lock_);
        give_credit(guard, c, to->serial, *in_of, 1);
        return true;
    }
    const lock guard(lock_);
    in_of->held_back.push_back(std::move(m));
    in_of->is_admitting = true;
    scope_->spawn([this, c, to, in_of] { admit(c, to, in_of); });
    return true;
}

/// Posts what is held back, as the mailbox has room.
void node_core::admit(const std::shared_ptr<contact>& c, const std::shared_ptr<exposed>& to,
                      const std::shared_ptr<inbound>& in_of) {
    for (;;) {
        wire_message first;
        {
            const lock guard(lock_);
            if (in_of->held_back.empty()) {
                in_of->is_admitting = false;
                return;
            }
            first = std::move(in_of->held_back.front());
            in_of->held_back.pop_front();
        }
        if (weft::detail::actor_has_ended(to->actor.core())) {
            report_dead_letter(weft::detail::actor_name(to->actor.core()), *first, dead_letter::cause::actor_gone);
        } else {
            try {
                weft::detail::actor_send(to->actor.core(), std::move(first));
            } catch (const std::exception&) {   // it has just ended, or its mailbox is full and of overflow::fail
            }
        }
        lock guard(lock_);
        give_credit(guard, c, to->serial, *in_of, 1);
        flush(guard, c);
    }
}

void node_core::give_credit(lock&, const std::shared_ptr<contact>& c, std::uint64_t serial, inbound& of, std::uint32_t n) {
    of.owed += n;
    const auto found = c->inbound_of.find(serial);
    if (found == c->inbound_of.end() || found->second.get() != &of || !c->is_open()) return;   // of an epoch that has ended
    if (of.owed < options_.credit / 2) return;
    byte_vector body;
    put(body, serial);
    put(body, std::exchange(of.owed, 0));
    queue_frame(*c, frame_kind::credit, body);
}

void node_core::answered(const std::shared_ptr<contact>& c, epoch_halves of, std::uint64_t id, std::span<const std::byte> bytes,
                         std::uint32_t version) noexcept {
    byte_vector body;
    put(body, id);
    put(body, version);
    put(body, bytes);
    lock guard(lock_);
    if (!c->is_open() || c->numbers.halves() != of) return;   // the asker was told
    --c->answers_owed;
    queue_frame(*c, frame_kind::answer, body);
    flush(guard, c);
}

void node_core::failed(const std::shared_ptr<contact>& c, epoch_halves of, std::uint64_t id, std::uint8_t code, exit_kind how,
                       std::string_view text) noexcept {
    byte_vector body;
    put(body, id);
    put(body, code);
    put(body, static_cast<std::uint8_t>(how));
    put(body, text);
    lock guard(lock_);
    if (!c->is_open() || c->numbers.halves() != of) return;
    --c->answers_owed;
    queue_frame(*c, frame_kind::failure, body);
    flush(guard, c);
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

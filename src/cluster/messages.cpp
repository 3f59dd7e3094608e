// messages.cpp - messages from other nodes, on their way to the mailboxes of this one; and the answers.
#include <weft/deadline.hpp>
#include <weft/simulation.hpp>

#include <algorithm>

#include "actor/actor_core.hpp"
#include "cluster/node_core.hpp"

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

}  // namespace

time_point deadline_after_ns(std::int64_t left) noexcept {
    return left == std::numeric_limits<std::int64_t>::max() ? weft::detail::never
                                                            : weft::detail::deadline_in(std::chrono::nanoseconds(left));
}

std::int64_t ns_until(time_point until) noexcept {
    return until == weft::detail::never ? std::numeric_limits<std::int64_t>::max() : std::int64_t{(until - weft::now()).count()};
}

std::string text_of(const exit_reason& why) {
    constexpr std::string_view said_by_kind = "failed: ";
    auto text = why.what();
    if (why.kind == exit_kind::failed && text.starts_with(said_by_kind)) text.erase(0, said_by_kind.size());
    return text.substr(0, longest_text);
}

bool may_be_handled(errc why) noexcept {
    switch (why) {
        case errc::unknown_message:
        case errc::bad_version:
        case errc::not_exposed:
        case errc::wrong_actor:
        case errc::bad_message:
        case errc::expired:
        case errc::not_owner: return false;
        default: return true;  // also what a later release says
    }
}

void fail_with_current(answer_path& path) noexcept {
    try {
        throw;
    } catch (const std::exception& e) {
        path.fail(errc::failed_remotely, e.what());
    } catch (...) {
        path.fail(errc::failed_remotely, "something that is no std::exception");
    }
}

/// \returns  the message; null if it cannot be made: `path`, if there is one, was told why
wire_message node_core::make_message(const exposed& to, std::uint64_t number, std::uint32_t version,
                                     std::span<const std::byte> bytes, std::unique_ptr<answer_path>& path) {
    const auto refuse = [&](errc why, std::string_view text) {
        if (path) path->fail(why, text);
    };
    const auto entry = std::ranges::find(to.entries, number, &wire_entry::number);
    if (entry == to.entries.end()) {
        refuse(errc::unknown_message,
               "actor '" + std::string(weft::detail::actor_name(to.actor.core())) + "' takes no such message from other nodes");
    } else if (version < entry->versions.oldest || version > entry->versions.newest) {
        refuse(errc::bad_version, "'" + std::string(entry->name) + "' has no version " + std::to_string(version) + " there");
    } else {
        try {
            return entry->make(bytes, version, path);
        } catch (const weft::cancelled&) {
            throw;
        } catch (const std::exception& e) {
            refuse(errc::bad_message, e.what());
        } catch (...) {   // what a format throws ends this message, and not the reader
            refuse(errc::bad_message, "the format threw what is no std::exception");
        }
    }
    return nullptr;
}

/// The actor was found by a name that it does not have any more.
void node_core::refuse_for_name(const std::shared_ptr<contact>& c, epoch_halves their, std::uint64_t token, answer_path* path) {
    if (path) return path->fail(errc::not_owner, "the actor does not have that name any more");
    if (token == 0) return;
    byte_vector body;
    put(body, token);
    const lock guard(lock_);
    if (is_current(*c, their)) queue_frame(*c, frame_kind::disowned, body);
}

/// PLACED-3
struct node_core::in_hand_until_return {
    ~in_hand_until_return() {
        if (!is_placed) return;
        const lock guard(core.lock_);
        core.delivering_to_ = 0;
    }
    node_core& core;
    bool is_placed = false;
};

bool node_core::on_message(const std::shared_ptr<contact>& c, epoch_halves their, byte_reader& in, bool asked) {
    const auto id = asked ? in.number<std::uint64_t>() : 0;
    const auto left = asked ? in.number<std::int64_t>() : 0;
    const auto serial = in.number<std::uint64_t>(), token = in.number<std::uint64_t>(), number = in.number<std::uint64_t>();
    const auto version = in.number<std::uint32_t>();
    if (in.failed()) return false;
    const epoch_halves of{.mine = their.yours, .yours = their.mine};
    std::unique_ptr<answer_path> path;
    std::shared_ptr<exposed> to;
    bool is_refused = false;
    in_hand_until_return in_hand{*this};
    {
        lock guard(lock_);
        if (!is_current(*c, their)) return true;
        const auto found = exposed_.find(serial);
        if (found != exposed_.end()) to = found->second;
        if (to && to->is_placed) {
            delivering_to_ = serial;
            in_hand.is_placed = true;
            is_refused = to->is_leaving || token == 0;  // such an actor is reached by its name only
        }
        if (asked) ++c->answers_owed;
        if (!to) {
            // Nothing takes the message, so its room is free at once.
            // Nothing is kept of an actor that is not there: its numbers are the sender's choice.
            queue_credit(*c, serial, 1);
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
    wire_message made;
    if (!is_refused && (token == 0 || (membership_ && membership_->holds(token, serial))))
        made = make_message(*to, number, version, in.rest(), path);
    else
        refuse_for_name(c, their, token, path.get());
    if (made) return deliver(c, of, to, std::move(made));
    lock guard(lock_);
    if (!asked) ++stats_.refused;
    leave_room(*c, of, serial);
    return true;
}

const std::shared_ptr<inbound>& node_core::inbound_from(contact& c, std::uint64_t serial) {
    auto& of = c.inbound_of[serial];
    if (!of) of = std::make_shared<inbound>();
    return of;
}

/// NODE_CORE-4. Called by the reader only. \returns false if the sender has ignored its credit (NODE_CORE-5)
bool node_core::deliver(const std::shared_ptr<contact>& c, epoch_halves of, const std::shared_ptr<exposed>& to, wire_message m) {
    const auto is_admitting = [&] {
        const auto in_of = c->inbound_of.find(to->serial);
        return in_of != c->inbound_of.end() && in_of->second->is_admitting;
    };
    lock guard(lock_);
    if (!is_admitting()) {
        guard.unlock();
        if (weft::detail::reserved_room room(to->actor.core()); room) {
            room.post(std::move(m));
            guard.lock();
            leave_room(*c, of, to->serial);
            return true;
        }
        guard.lock();
    }
    if (!exposed_.contains(to->serial) && !is_admitting()) {  // it has just ended, or is not exposed any more
        leave_room(*c, of, to->serial);
        guard.unlock();
        report_dead_letter(weft::detail::actor_name(to->actor.core()), *m, dead_letter::cause::actor_gone);
        return true;
    }
    const auto in_of = inbound_from(*c, to->serial);
    if (in_of->held_back.size() >= 2 * std::size_t{options_.credit}) return false;
    in_of->held_back.push_back({std::move(m), of});
    if (std::exchange(in_of->is_admitting, true)) return true;
    start_soon([this, c, to, in_of] { admit(c, to, in_of); });
    return true;
}

/// Posts what is held back, as the mailbox has room.
void node_core::admit(const std::shared_ptr<contact>& c, const std::shared_ptr<exposed>& to,
                      const std::shared_ptr<inbound>& in_of) {
    for (;;) {
        held_message first;
        {
            const lock guard(lock_);
            if (in_of->held_back.empty()) {
                in_of->is_admitting = false;
                if (!exposed_.contains(to->serial)) forget_inbound(*c, to->serial);
                return;
            }
            first = std::move(in_of->held_back.front());
            in_of->held_back.pop_front();
        }
        if (weft::detail::actor_has_ended(to->actor.core())) {
            report_dead_letter(weft::detail::actor_name(to->actor.core()), *first.message, dead_letter::cause::actor_gone);
        } else {
            try {
                weft::detail::actor_send(to->actor.core(), std::move(first.message));
            } catch (const std::exception&) {  // it has just ended, or its mailbox is full and of overflow::fail
            }
        }
        lock guard(lock_);
        give_credit(*c, first.of, to->serial, *in_of);
        flush(guard, c);
    }
}

/// The actor is not exposed any more: gives all room back, so that neither side keeps anything of it.
void node_core::forget_inbound(contact& c, std::uint64_t serial) {
    const auto found = c.inbound_of.find(serial);
    if (found == c.inbound_of.end() || found->second->is_admitting) return;
    if (c.is_open() && found->second->owed > 0) queue_credit(c, serial, found->second->owed);
    c.inbound_of.erase(found);
}

void node_core::queue_credit(contact& c, std::uint64_t serial, std::uint32_t messages) {
    byte_vector body;
    put(body, serial);
    put(body, messages);
    queue_frame(c, frame_kind::credit, body);
}

/// A message of that epoch has left its room, by whatever way. Nothing is kept of an actor that is not there.
void node_core::leave_room(contact& c, epoch_halves of, std::uint64_t serial) {
    if (!c.is_open() || c.numbers.halves() != of) return;
    if (exposed_.contains(serial))
        give_credit(c, of, serial, *inbound_from(c, serial));
    else
        queue_credit(c, serial, 1);
}

/// A message of that epoch has left its room.
void node_core::give_credit(contact& c, epoch_halves of, std::uint64_t serial, inbound& from) {
    if (!c.is_open() || c.numbers.halves() != of) return;
    if (++from.owed < options_.credit / 2) return;
    queue_credit(c, serial, std::exchange(from.owed, 0));
}

void node_core::answered(const std::shared_ptr<contact>& c, epoch_halves of, std::uint64_t id, std::span<const std::byte> bytes,
                         std::uint32_t version) noexcept {
    if (bytes.size() > options_.max_message_bytes)
        return failed(c, of, id, static_cast<std::uint8_t>(errc::too_large), exit_kind::normal,
                      "the answer has " + std::to_string(bytes.size()) + " bytes, and at most " +
                          std::to_string(options_.max_message_bytes) + " may be sent");
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
    put(body, text.substr(0, longest_text));
    lock guard(lock_);
    if (!c->is_open() || c->numbers.halves() != of) return;
    --c->answers_owed;
    queue_frame(*c, frame_kind::failure, body);
    flush(guard, c);
}

}  // namespace weft::cluster::detail

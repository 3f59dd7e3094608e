// topics.cpp - asks the server for what receivers want, and finds the receivers of a message.
#include "redis/topics.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include <weft/fiber.hpp>

#include "redis/codec.hpp"

namespace weft::detail::redis {

namespace {

using weft::redis::argument;
using weft::redis::array;
using weft::redis::error;
using weft::redis::error_kind;
using weft::redis::error_reply;
using weft::redis::message;
using weft::redis::value;

void append_about(std::string& to, std::string_view channel_command, std::string_view pattern_command, const topic_name& topic) {
    const auto name = topic.what == topic_name::kind::channel ? channel_command : pattern_command;
    append_command(to, std::array<argument, 2>{name, topic.text});
}

[[noreturn]] void refuse_unasked() { throw std::runtime_error("the server sent a reply that nothing asked for"); }

/// The text of one part of a message, moved out.
std::string take_text(value& part) {
    auto* const text = std::get_if<std::string>(&part.content());
    if (!text) refuse_unasked();
    return std::move(*text);
}

}  // namespace

void topic_member::await_confirmed() const {
    settled_.wait();
    if (failure_) throw error(failure_->first, failure_->second);
}

void topic_member::confirm() noexcept {
    confirmed_ = true;
    settled_.set();
}

void topic_member::fail(error_kind kind, const std::string& reason) {
    if (!confirmed_) failure_.emplace(kind, reason);
    queue_.close();
    settled_.set();
}

receiver<message> topics::join(topic_name::kind what, std::string_view text, weft::subscription how) {
    if (how.capacity == 0 && how.overflow == overflow::drop_oldest)
        throw std::invalid_argument("redis: a subscription with overflow::drop_oldest needs a capacity of 1 or more");
    // The writer could tell nobody that a name is too long.
    check_length(std::array<argument, 2>{"PUNSUBSCRIBE", text});
    topic_name name{what, std::string(text)};
    const auto mine = std::make_shared<topic_member>(how);
    auto rx = mine->rx();
    {
        const lock_guard guard(lock_);
        if (closed_ || clock::now() < retry_at_) throw error(error_kind::connection, reason_);
        check_room_for(name);
        auto& t = topics_[std::move(name)];
        t.members.push_back(mine);
        if (t.progress == state::confirmed) mine->confirm();
    }
    changed_.set();
    mine->await_confirmed();
    return rx;
}

/// Callers that give up leave topics behind until the server answers, so a server that hangs must
/// not use up the memory.
void topics::check_room_for(const topic_name& name) const {
    if (topics_.size() < max_waiting_ || topics_.contains(name)) return;
    const auto waits = [](const auto& each) { return each.second.progress != state::confirmed; };
    if (static_cast<std::size_t>(std::ranges::count_if(topics_, waits)) < max_waiting_) return;
    throw error(error_kind::refused, "redis: " + std::to_string(max_waiting_) + " subscriptions wait for the server already");
}

void topics::wait_wanted() {
    for (;;) {
        bool wanted = false;
        auto until = never;
        {
            const lock_guard guard(lock_);
            forget_gone();
            wanted = !topics_.empty();
            until = retry_at_;
        }
        if (!wanted)
            changed_.wait();
        else if (clock::now() < until)
            this_fiber::sleep_until(until);
        else
            return;
    }
}

/// Topics without a receiver go, except those of which the server still has to answer (TOPICS-2).
void topics::forget_gone() {
    for (auto at = topics_.begin(); at != topics_.end();) {
        std::erase_if(at->second.members, [](const auto& m) { return m->is_gone(); });
        const bool unused = at->second.members.empty() && at->second.progress == state::wanted;
        at = unused ? topics_.erase(at) : std::next(at);
    }
}

bool topics::take(std::string& bytes) {
    const lock_guard guard(lock_);
    forget_gone();
    for (auto at = topics_.begin(); at != topics_.end();) {
        auto& [name, one] = *at;
        if (one.progress == state::wanted) {
            append_about(bytes, "SUBSCRIBE", "PSUBSCRIBE", name);
            expected_.push_back({command::subscribe, name});
            one.progress = state::asked;
        } else if (one.progress == state::confirmed && one.members.empty()) {
            append_about(bytes, "UNSUBSCRIBE", "PUNSUBSCRIBE", name);
            expected_.push_back({command::unsubscribe, name});
            at = topics_.erase(at);
            continue;
        }
        ++at;
    }
    return !topics_.empty();
}

void topics::ping(std::string& bytes) {
    append_command(bytes, std::array<argument, 1>{"PING"});
    const lock_guard guard(lock_);
    expected_.push_back({command::ping, {}});
}

topics::delivery topics::accept(value reply) {
    const lock_guard guard(lock_);
    if (const auto* failure = std::get_if<error_reply>(&reply.content())) {
        // A server that is full says so unasked, and closes.
        if (expected_.empty()) throw std::runtime_error(failure->text);
        if (const auto asked = next_question(); asked.what == command::subscribe) refused(asked.about, failure->text);
        return {};
    }
    if (std::get_if<weft::redis::status>(&reply.content())) {  // of a PING where nothing is subscribed
        if (next_question().what != command::ping) refuse_unasked();
        return {};
    }
    auto* const all = std::get_if<array>(&reply.content());
    if (!all || all->size() < 2) refuse_unasked();
    auto& part = *all;
    const auto kind = take_text(part[0]);
    if (kind == "message" && part.size() == 3)
        return to_members(topic_name::kind::channel, {take_text(part[1]), {}, take_text(part[2])});
    if (kind == "pmessage" && part.size() == 4) {
        auto pattern = take_text(part[1]);
        auto channel = take_text(part[2]);
        return to_members(topic_name::kind::pattern, {std::move(channel), std::move(pattern), take_text(part[3])});
    }
    answered(kind, take_text(part[1]));
    return {};
}

/// TOPICS-1
topics::question topics::next_question() {
    if (expected_.empty()) refuse_unasked();
    auto first = std::move(expected_.front());
    expected_.pop_front();
    return first;
}

void topics::answered(const std::string& kind, const std::string& name) {
    const auto asked = next_question();
    const bool pattern = asked.about.what == topic_name::kind::pattern;
    switch (asked.what) {
        case command::ping:
            if (kind != "pong") refuse_unasked();
            return;
        case command::subscribe:
            if (kind != (pattern ? "psubscribe" : "subscribe") || name != asked.about.text) refuse_unasked();
            return confirm(asked.about);
        case command::unsubscribe:
            if (kind != (pattern ? "punsubscribe" : "unsubscribe") || name != asked.about.text) refuse_unasked();
            return;
    }
}

topics::delivery topics::to_members(topic_name::kind what, message m) {
    const auto found = topics_.find({what, what == topic_name::kind::channel ? m.channel : m.pattern});
    // UNSUBSCRIBE is on its way. A receiver that waits for its confirmation must get nothing: its
    // caller cannot take it yet, so with `park` the confirmation would never be read.
    if (found == topics_.end() || found->second.progress != state::confirmed) return {};
    const auto& members = found->second.members;
    if (std::ranges::any_of(members, [](const auto& r) { return r->is_gone(); })) changed_.set();
    return {std::move(m), members};
}

void topics::confirm(const topic_name& name) {
    auto& t = topics_.at(name);  // TOPICS-2
    t.progress = state::confirmed;
    for (const auto& m : t.members) m->confirm();
}

/// A receiver that was told that it is subscribed ends only if its user may not subscribe (any
/// more). Other errors pass, such as those of a server that is full or still loads.
void topics::refused(const topic_name& name, const std::string& reason) {
    const auto found = topics_.find(name);  // TOPICS-2
    if (!reason.starts_with("NOPERM") && std::ranges::any_of(found->second.members, [](const auto& m) { return m->confirmed(); }))
        throw std::runtime_error("the server refuses SUBSCRIBE: " + reason);
    for (const auto& m : found->second.members) m->fail(error_kind::reply, reason);
    topics_.erase(found);
}

void topics::lost(const std::string& reason, time_point retry_at) {
    const lock_guard guard(lock_);
    reason_ = reason;
    retry_at_ = retry_at;
    expected_.clear();
    for (auto& [name, one] : topics_) {
        one.progress = state::wanted;
        std::erase_if(one.members, [&](const auto& m) {
            if (m->confirmed()) return false;
            m->fail(error_kind::connection, reason);
            return true;
        });
    }
    forget_gone();
}

void topics::rest() {
    const lock_guard guard(lock_);
    expected_.clear();
    retry_at_ = {};
}

void topics::close(const std::string& reason) {
    const lock_guard guard(lock_);
    reason_ = reason;
    closed_ = true;
    for (auto& [name, one] : topics_)
        for (const auto& m : one.members) m->fail(error_kind::connection, reason);
    topics_.clear();
}

}  // namespace weft::detail::redis

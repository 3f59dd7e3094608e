// groups.cpp - groups and topics: messages to one member, and to all subscribers. Each is lost or arrives once.
//
//  to a member  w.CLUSTER.g.GROUP, of which the members are one queue: asked(1) limit in ns(8) message(8)
//               version(4) payload(rest)
//  its answer   to the reply of the asker: errc(1; 0: answered), then version(4) payload(rest), or a text
//  to all       w.CLUSTER.t.TOPIC: message(8) version(4) payload(rest)
//
// Nobody asks the receivers which versions they read, so all is written in the oldest version that this
// program knows.
#include <weft/stop.hpp>

#include <algorithm>
#include <stdexcept>

#include "cluster/node_core.hpp"
#include "cluster/subject.hpp"

namespace weft::cluster::detail {
namespace {

/// The way back to an asker by the reply of its request.
class path_to_reply final : public answer_path {
public:
    path_to_reply(std::shared_ptr<transport> by, std::string to, std::size_t most_bytes, time_point until)
        : by_(std::move(by)), to_(std::move(to)), most_bytes_(most_bytes), until_(until) {}
    ~path_to_reply() override {
        path_to_reply::fail(errc::not_answered, "the actor has ended, or took the message without an answer");
    }

    bool is_late() const noexcept override { return weft::now() >= until_; }
    void answer(std::span<const std::byte> bytes, std::uint32_t version) noexcept override {
        if (bytes.size() > most_bytes_) return fail(errc::too_large, "the answer has more bytes than may be sent");
        byte_vector body;
        put(body, std::uint8_t{0});
        put(body, version);
        body.insert(body.end(), bytes.begin(), bytes.end());
        publish(body);
    }
    void fail(errc why, std::string_view text) noexcept override {
        byte_vector body;
        put(body, static_cast<std::uint8_t>(why));
        put(body, text.substr(0, longest_text));
        publish(body);
    }

private:
    void publish(const byte_vector& body) noexcept {
        if (std::exchange(is_answered_, true)) return;
        try {
            const shield until_sent;
            by_->publish(to_, {}, body);
        } catch (const std::exception&) {}  // the asker's limit tells it
    }

    const std::shared_ptr<transport> by_;
    const std::string to_;
    const std::size_t most_bytes_;
    const time_point until_;
    bool is_answered_ = false;
};

}  // namespace

/// The message's number, its version, its bytes. \throws error (too_large)
void node_core::write_unasked(byte_vector& into, const outgoing& m) const {
    put(into, m.number);
    put(into, m.versions.oldest);
    write_payload(into, m, m.versions.oldest);
}

void node_core::join(std::string_view group, const remote_address& actor) {
    require_subject("group", group);
    const auto member = [&]() -> std::shared_ptr<exposed> {
        require_open();
        const bool is_here = actor.node == options_.name && actor.incarnation == incarnation_;
        const auto found = is_here ? exposed_.find(actor.serial) : exposed_.end();
        if (found != exposed_.end() && !found->second->is_placed) return found->second;  // a placed actor is reached by its name only
        throw error(errc::not_exposed, "weft: only an actor that this node exposes can join group '" + std::string(group) + "'",
                    false);
    };
    {
        const lock guard(lock_);
        if (member()->groups.contains(std::string(group))) return;
    }
    std::shared_ptr<inbox> in = options_.words->subscribe(group_subject(options_.cluster, group), "g");
    const lock guard(lock_);
    const auto e = member();
    if (!e->groups.emplace(group, in).second) return;
    start_soon([this, e, in] { serve_group(e, *in); });
}

void node_core::leave(std::string_view group, const remote_address& actor) noexcept {
    std::shared_ptr<inbox> left;
    {
        const lock guard(lock_);
        const auto found = actor.node == options_.name ? exposed_.find(actor.serial) : exposed_.end();
        if (found == exposed_.end()) return;
        auto& groups = found->second->groups;
        const auto at = groups.find(std::string(group));
        if (at == groups.end()) return;
        left = std::move(at->second);
        groups.erase(at);
    }
    left->close();
}

void node_core::leave_groups(exposed& e, std::vector<std::shared_ptr<inbox>>& to_close) {
    for (auto& [_, in] : std::exchange(e.groups, {})) to_close.push_back(std::move(in));
}

/// Passes the messages of a group on to a member, until it leaves.
void node_core::serve_group(const std::shared_ptr<exposed>& e, inbox& in) {
    for (carried m; in.receive(m);) {
        try {
            on_group_message(e, m);
        } catch (const std::exception&) {  // of this message only, such as for want of memory
            const lock guard(lock_);
            ++stats_.refused;
        }
    }
}

/// \parks while the mailbox is full
void node_core::on_group_message(const std::shared_ptr<exposed>& e, const carried& m) {
    byte_reader in(m.payload);
    const bool asked = in.number<std::uint8_t>() != 0;
    const auto left = in.number<std::int64_t>();
    const auto number = in.number<std::uint64_t>();
    const auto version = in.number<std::uint32_t>();
    if (in.failed() || asked == m.reply.empty()) throw std::invalid_argument("no message to a group");
    std::unique_ptr<answer_path> path;
    if (asked)
        path = std::make_unique<path_to_reply>(options_.words, m.reply, options_.max_message_bytes, deadline_after_ns(left));
    if (weft::detail::actor_has_ended(e->actor.core())) {  // its subscription is about to end
        if (path) path->fail(errc::not_exposed, "the member has ended");
        return;
    }
    auto made = make_message(*e, number, version, in.rest(), path);
    {
        const lock guard(lock_);
        made ? ++stats_.received : ++stats_.refused;
    }
    if (made) weft::detail::actor_send(e->actor.core(), std::move(made));
}

void node_core::send_to_group(std::string_view group, const outgoing& m) {
    require_subject("group", group);
    byte_vector body;
    put(body, std::uint8_t{0});
    put(body, std::int64_t{0});
    write_unasked(body, m);
    count_sent();
    options_.words->publish(group_subject(options_.cluster, group), {}, body);
}

remote_answer node_core::ask_group(std::string_view group, const outgoing& m, time_point until) {
    require_subject("group", group);
    byte_vector body;
    put(body, std::uint8_t{1});
    put(body, ns_until(until));
    write_unasked(body, m);
    count_sent();
    pending_ask mine;
    request(group_subject(options_.cluster, group), body, until, mine);
    const auto of = "weft: group '" + std::string(group) + "'";
    if (mine.failed == errc::unreachable) throw error(errc::unreachable, of + " has no member", false);
    byte_reader in(mine.answer.bytes);
    if (const auto why = static_cast<errc>(mine.status); mine.status != 0) {
        const bool is_known = why >= errc::unknown_message && why <= errc::not_answered;
        throw error(is_known ? why : errc::bad_message, of + ": " + std::string(in.text()), !is_known || may_be_handled(why));
    }
    remote_answer answer{.bytes = {}, .version = in.number<std::uint32_t>()};
    if (in.failed()) throw error(errc::bad_message, of + " has sent an answer that is none", true);
    const auto rest = in.rest();
    answer.bytes.assign(rest.begin(), rest.end());
    return answer;
}

void node_core::publish(std::string_view topic, const outgoing& m) {
    require_subject("topic", topic);
    byte_vector body;
    write_unasked(body, m);
    count_sent();
    options_.words->publish(topic_subject(options_.cluster, topic), {}, body);
}

std::shared_ptr<inbox> node_core::subscribe(std::string_view topic) {
    require_subject("topic", topic);
    {
        const lock guard(lock_);
        require_open();
    }
    std::shared_ptr<inbox> in = options_.words->subscribe(topic_subject(options_.cluster, topic), {});
    const lock guard(lock_);
    require_open();
    std::erase_if(topics_, [](const auto& t) { return t.expired(); });
    topics_.push_back(in);
    return in;
}

void node_core::count_sent() {
    const lock guard(lock_);
    require_open();
    ++stats_.sent;
}

std::optional<topic_bytes> read_topic(const carried& m) noexcept {
    byte_reader in(m.payload);
    topic_bytes b{.number = in.number<std::uint64_t>(), .version = in.number<std::uint32_t>(), .payload = {}};
    b.payload = in.rest();
    if (in.failed()) return std::nullopt;
    return b;
}

void join_group(node_core& n, std::string_view group, const remote_address& actor) { n.join(group, actor); }
void leave_group(node_core& n, std::string_view group, const remote_address& actor) noexcept { n.leave(group, actor); }
void group_send(node_core& n, std::string_view group, const outgoing& m) { n.send_to_group(group, m); }
remote_answer group_ask(node_core& n, std::string_view group, const outgoing& m, time_point until) {
    return n.ask_group(group, m, until);
}
void topic_publish(node_core& n, std::string_view topic, const outgoing& m) { n.publish(topic, m); }
std::shared_ptr<inbox> topic_subscribe(node_core& n, std::string_view topic) { return n.subscribe(topic); }

}  // namespace weft::cluster::detail

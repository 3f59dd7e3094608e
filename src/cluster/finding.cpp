// finding.cpp - references to actors by their names, and what the transport could not deliver.
//
//  request  subject w.CLUSTER.f.NODE, reply w.CLUSTER.r.ASKER.INCARNATION.fID: the actor's name, then the
//           numbers of the messages it must take. Requests to groups have such a reply, too.
//  answer   to that reply: errc(1; 0: found) incarnation(8) serial(8)
#include <weft/deadline.hpp>
#include <weft/simulation.hpp>

#include <algorithm>
#include <charconv>

#include "cluster/node_core.hpp"
#include "cluster/subject.hpp"

namespace weft::cluster::detail {
namespace {

std::optional<std::uint64_t> number_in(std::string_view text) noexcept {
    std::uint64_t n = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return n;
}

bool has_entry(std::span<const wire_entry> entries, std::uint64_t number) noexcept {
    return std::ranges::find(entries, number, &wire_entry::number) != entries.end();
}

}  // namespace

/// Publishes a request, and waits until `mine` has what was answered to it.
/// \throws timeout_error; error (closed, no_lease) of this node; what the transport throws; weft::cancelled
void node_core::request(const std::string& subject, std::span<const std::byte> bytes, time_point until, pending_ask& mine) {
    lock guard(lock_);
    require_open();
    const auto id = ++last_id_;
    const auto reply = reply_subject(options_.cluster, options_.name, incarnation_) + ".f" + std::to_string(id);
    requests_.emplace(id, &mine);
    guard.unlock();
    const auto forget = [&] {
        if (!guard.owns_lock()) guard.lock();
        requests_.erase(id);
    };
    try {
        options_.words->publish(subject, reply, bytes);
        guard.lock();
        mine.changed.wait_until(guard, until, [&] { return mine.done; });
    } catch (...) {
        forget();
        throw;
    }
    forget();
    if (!mine.done) throw timeout_error("weft: there was no answer to '" + subject + "' in time");
    if (mine.failed == errc::closed || mine.failed == errc::no_lease) throw error(*mine.failed, "weft: " + mine.text, true);
}

remote_address node_core::find(std::string_view node, std::string_view actor, std::span<const wire_entry> entries,
                               time_point until) {
    require_name("node", node);
    byte_vector request_bytes;
    put(request_bytes, actor);
    for (const auto& e : entries) put(request_bytes, e.number);
    pending_ask mine;
    request(find_subject(options_.cluster, node), request_bytes, until, mine);
    const auto of = "actor '" + std::string(actor) + "' of node '" + std::string(node) + "'";
    if (mine.failed == errc::unreachable)
        throw error(errc::unreachable, "weft: there is no node '" + std::string(node) + "'", false);
    if (mine.status == static_cast<std::uint8_t>(errc::wrong_actor))
        throw error(errc::wrong_actor, "weft: " + of + " does not take all messages of the type asked for", false);
    if (mine.status != 0) throw error(errc::not_exposed, "weft: there is no " + of, false);
    byte_reader in(mine.answer.bytes);
    remote_address found{
        .node = std::string(node), .incarnation = in.number<std::uint64_t>(), .serial = in.number<std::uint64_t>()};
    if (in.failed())
        throw error(errc::bad_message, "weft: node '" + std::string(node) + "' has sent an answer that is none", false);
    return found;
}

void node_core::on_find(const carried& m) {
    if (m.reply.empty()) return;
    byte_reader in(m.payload);
    const auto name = in.text();
    byte_vector answer;
    {
        const lock guard(lock_);
        if (in.failed()) {
            ++stats_.refused;
            return;
        }
        if (incarnation_ == 0) return;  // the asker's limit tells it
        auto status = static_cast<std::uint8_t>(errc::not_exposed);
        std::uint64_t serial = 0;
        const auto found = std::ranges::find_if(exposed_, [&](const auto& e) {
            return !e.second->is_placed && weft::detail::actor_name(e.second->actor.core()) == name;
        });
        if (found != exposed_.end()) {
            bool takes_all = true;
            while (!in.at_end() && takes_all) takes_all = has_entry(found->second->entries, in.number<std::uint64_t>());
            status = takes_all && !in.failed() ? 0 : static_cast<std::uint8_t>(errc::wrong_actor);
            serial = found->first;
        }
        put(answer, status);
        put(answer, incarnation_);
        put(answer, serial);
    }
    try {
        options_.words->publish(m.reply, {}, answer);
    } catch (const std::exception&) {  // as above
    }
}

void node_core::on_reply(const carried& m) {
    const auto word = last_word(m.subject);
    if (word.starts_with('n')) {
        if (m.no_responders) refused_by_transport(word.substr(1));
        return;
    }
    const auto id = word.starts_with('f') ? number_in(word.substr(1)) : std::nullopt;
    const lock guard(lock_);
    const auto found = id ? requests_.find(*id) : requests_.end();
    if (found == requests_.end() || found->second->done) return;
    auto& a = *found->second;
    if (m.no_responders) {
        a.failed = errc::unreachable;
    } else {
        byte_reader in(m.payload);
        a.status = in.number<std::uint8_t>();
        if (in.failed()) a.status = no_status;
        const auto rest = in.rest();
        a.answer.bytes.assign(rest.begin(), rest.end());
    }
    a.done = true;
    a.changed.notify_all();
}

/// No node had the subject of a batch to INCARNATION-NAME: that node has ended, or has lost its server for a
/// moment.
void node_core::refused_by_transport(std::string_view to) {
    const auto dash = to.find('-');
    const auto incarnation = number_in(to.substr(0, dash));
    if (dash == std::string_view::npos || !incarnation) return;
    const lock guard(lock_);
    const auto found = contacts_.find({std::string(to.substr(dash + 1)), *incarnation});
    if (found != contacts_.end()) found->second->is_suspected = true;
}

}  // namespace weft::cluster::detail

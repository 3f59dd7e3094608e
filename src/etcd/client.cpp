// client.cpp - the public client: each call is a path, a request and what its answer means.
#include <weft/etcd/client.hpp>

#include <stdexcept>
#include <utility>

#include "etcd/wire.hpp"
#include "sched/current_place.hpp"

namespace weft::etcd {

using weft::detail::twice;
using weft::detail::etcd::bad_answer;
using weft::detail::etcd::json;

namespace {

/// Runs f, which reads the answer of a request.
template <class F>
auto understood(const char* path, twice kind, F&& f) {
    try {
        return f();
    } catch (const bad_answer& e) {
        throw error(etcd_errc::protocol, "weft: etcd " + std::string(path) + ": " + e.what(), kind != twice::nothing_done);
    }
}

json id_of(lease_id id) { return {{"ID", std::to_string(id)}}; }

std::chrono::seconds seconds_at(const json& answer, const char* name) {
    const auto n = weft::detail::etcd::integer_at(answer, name);
    if (n > std::int64_t{1} << 33) throw bad_answer("a lease lasts for ever");
    return std::chrono::seconds(n);
}

}  // namespace

client::client(client_options options) {
    if (weft::detail::find_current_place().workers == 0)
        throw std::logic_error("weft: etcd::client needs a runtime: create it inside weft::run()");
    wire_ = std::make_shared<weft::detail::etcd_wire>(std::move(options));
}

client::~client() = default;

std::optional<key_value> client::get(std::string_view key) const {
    auto found = range(key_range::one(key));
    if (found.kvs.empty()) return std::nullopt;
    return std::move(found.kvs.front());
}

range_result client::range(const key_range& keys, const range_options& o) const {
    const auto path = "/v3/kv/range";
    const auto answer = wire_->call(path, wire_->codec().range(keys, o), twice::nothing_done);
    return understood(path, twice::nothing_done, [&] { return wire_->codec().range_of(answer); });
}

put_result client::put(std::string_view key, std::string_view value, const put_options& o) const {
    const auto path = "/v3/kv/put";
    const auto answer = wire_->call(path, wire_->codec().put(key, value, o), twice::differs);
    return understood(path, twice::differs, [&] { return wire_->codec().put_of(answer); });
}

remove_result client::remove(const key_range& keys, const remove_options& o) const {
    const auto path = "/v3/kv/deleterange";
    const auto answer = wire_->call(path, wire_->codec().remove(keys, o), twice::differs);
    return understood(path, twice::differs, [&] { return wire_->codec().remove_of(answer); });
}

txn_result client::txn(const transaction& t) const {
    const auto path = "/v3/kv/txn";
    const auto kind = t.is_idempotent() ? twice::same : twice::differs;
    const auto answer = wire_->call(path, wire_->codec().txn(t), kind);
    return understood(path, kind, [&] { return wire_->codec().txn_of(answer); });
}

void client::compact(revision_number revision) const {
    wire_->call("/v3/kv/compaction", {{"revision", std::to_string(revision)}}, twice::differs);
}

granted_lease client::grant(std::chrono::nanoseconds ttl, lease_id id) const {
    const auto path = "/v3/lease/grant";
    const auto asked = std::chrono::ceil<std::chrono::seconds>(ttl).count();
    if (asked <= 0) throw std::invalid_argument("weft: etcd: a lease must last for more than zero");
    auto request = id_of(id);
    request["TTL"] = std::to_string(asked);
    const auto answer = wire_->call(path, request, twice::differs);
    return understood(path, twice::differs, [&] {
        granted_lease made{.id = weft::detail::etcd::integer_at(answer, "ID"), .ttl = seconds_at(answer, "TTL")};
        if (made.id == 0 || made.ttl.count() <= 0) throw bad_answer("a lease without id or TTL");
        return made;
    });
}

void client::revoke(lease_id id) const { wire_->call("/v3/lease/revoke", id_of(id), twice::differs); }

std::optional<std::chrono::seconds> client::keep_alive_once(lease_id id, std::optional<std::chrono::nanoseconds> limit) const {
    const auto path = "/v3/lease/keepalive";
    const auto answer = wire_->call(path, id_of(id), twice::nothing_done, limit);
    return understood(path, twice::nothing_done, [&]() -> std::optional<std::chrono::seconds> {
        const auto& result = weft::detail::etcd::at(answer, "result");
        if (weft::detail::etcd::integer_at(result, "ID") != id) throw bad_answer("the answer is about another lease");
        const auto left = seconds_at(result, "TTL");
        if (left.count() <= 0) return std::nullopt;  // the field is left out for a dead one
        return left;
    });
}

std::optional<lease_state> client::time_to_live(lease_id id, bool with_keys) const {
    const auto path = "/v3/lease/timetolive";
    auto request = id_of(id);
    request["keys"] = with_keys;
    const auto answer = wire_->call(path, request, twice::nothing_done);
    return understood(path, twice::nothing_done, [&]() -> std::optional<lease_state> {
        lease_state s{.left = seconds_at(answer, "TTL"), .granted = seconds_at(answer, "grantedTTL")};
        if (s.left.count() < 0) return std::nullopt;
        for (const auto& key : weft::detail::etcd::list_at(answer, "keys")) {
            const auto bytes = weft::detail::etcd::bytes_at({{"key", key}}, "key");
            s.keys.push_back(wire_->codec().own_key(bytes));
        }
        return s;
    });
}

status_result client::status() const {
    const auto path = "/v3/maintenance/status";
    const auto answer = wire_->call(path, json::object(), twice::nothing_done);
    return understood(path, twice::nothing_done, [&] {
        using namespace weft::detail::etcd;
        return status_result{.version = text_at(answer, "version"),
                             .member = unsigned_at(at(answer, "header"), "member_id"),
                             .leader = unsigned_at(answer, "leader"),
                             .raft_term = unsigned_at(answer, "raftTerm"),
                             .database_bytes = integer_at(answer, "dbSize"),
                             .revision = revision_of(answer)};
    });
}

std::vector<member> client::members() const {
    const auto path = "/v3/cluster/member/list";
    const auto answer = wire_->call(path, json::object(), twice::nothing_done);
    return understood(path, twice::nothing_done, [&] {
        using namespace weft::detail::etcd;
        std::vector<member> all;
        for (const auto& m : list_at(answer, "members")) {
            member one{.id = unsigned_at(m, "ID"), .name = text_at(m, "name")};
            const auto urls = [&](const char* name, std::vector<std::string>& into) {
                for (const auto& url : list_at(m, name)) into.push_back(text_at({{"url", url}}, "url"));
            };
            urls("peerURLs", one.peer_urls);
            urls("clientURLs", one.client_urls);
            all.push_back(std::move(one));
        }
        return all;
    });
}

}  // namespace weft::etcd

#include "etcd/codec.hpp"

#include <memory>
#include <utility>
#include <variant>

namespace weft::etcd {

key_range key_range::prefix(std::string_view begin) {
    std::string end(begin);
    while (!end.empty() && end.back() == '\xff') end.pop_back();
    if (end.empty()) {
        end.push_back('\0');
    } else {
        end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
    }
    return {begin.empty() ? std::string(1, '\0') : std::string(begin), std::move(end)};
}

}  // namespace weft::etcd

namespace weft::detail::etcd {

using namespace weft::etcd;

namespace {

const char* const orders[] = {"NONE", "ASCEND", "DESCEND"};
const char* const sort_targets[] = {"KEY", "VERSION", "CREATE", "MOD", "VALUE"};
const char* const relations[] = {"EQUAL", "NOT_EQUAL", "LESS", "GREATER"};

template <class Enum>
auto index(Enum e) noexcept {
    return static_cast<std::size_t>(e);
}

}  // namespace

void codec::add_keys(json& request, const key_range& keys) const {
    const std::string everything(1, '\0');
    auto first = keys.first;
    auto end = keys.end;
    if (!name_space_.empty()) {
        if (first == everything && end == everything) first.clear();  // all keys: the name space begins with itself
        first = name_space_ + first;
        if (end == everything) {
            end = key_range::prefix(name_space_).end;
        } else if (!end.empty()) {
            end = name_space_ + end;
        }
    }
    request["key"] = base64(first);
    if (!end.empty()) request["range_end"] = base64(end);
}

std::string codec::own_key(std::string key) const {
    if (!key.starts_with(name_space_)) throw bad_answer("a key lies outside the client's prefix");
    key.erase(0, name_space_.size());
    return key;
}

json codec::range(const key_range& keys, const range_options& o) const {
    json r;
    add_keys(r, keys);
    if (o.limit) r["limit"] = std::to_string(o.limit);
    if (o.revision) r["revision"] = std::to_string(o.revision);
    if (o.keys_only) r["keys_only"] = true;
    if (o.count_only) r["count_only"] = true;
    if (o.serializable) r["serializable"] = true;
    if (o.order != sort_order::none) {
        r["sort_order"] = orders[index(o.order)];
        r["sort_target"] = sort_targets[index(o.target)];
    }
    return r;
}

json codec::put(std::string_view key, std::string_view value, const put_options& o) const {
    json r;
    add_keys(r, key_range::one(key));
    r["value"] = base64(value);
    if (o.lease) r["lease"] = std::to_string(o.lease);
    if (o.prev) r["prev_kv"] = true;
    return r;
}

json codec::remove(const key_range& keys, const remove_options& o) const {
    json r;
    add_keys(r, keys);
    if (o.prev) r["prev_kv"] = true;
    return r;
}

json codec::compare(const condition& c) const {
    json r;
    add_keys(r, key_range::one(c.key));
    r["result"] = relations[index(c.how)];
    const auto compare_number = [&](const char* target, const char* member) {
        r["target"] = target;
        r[member] = std::to_string(c.number);
    };
    switch (c.what) {
        case condition::target::value:
            r["target"] = "VALUE";
            r["value"] = base64(c.value);
            break;
        case condition::target::version: compare_number("VERSION", "version"); break;
        case condition::target::create_revision: compare_number("CREATE", "create_revision"); break;
        case condition::target::mod_revision: compare_number("MOD", "mod_revision"); break;
        case condition::target::lease: compare_number("LEASE", "lease"); break;
    }
    return r;
}

json codec::operation(const weft::etcd::operation& o) const {
    json r;
    if (const auto* p = std::get_if<put_operation>(&o)) r["request_put"] = put(p->key, p->value, p->options);
    if (const auto* g = std::get_if<range_operation>(&o)) r["request_range"] = range(g->keys, g->options);
    if (const auto* d = std::get_if<remove_operation>(&o)) r["request_delete_range"] = remove(d->keys, d->options);
    if (const auto* t = std::get_if<std::shared_ptr<const transaction>>(&o)) r["request_txn"] = txn(**t);
    return r;
}

json codec::txn(const transaction& t) const {
    json r = json::object();
    for (const auto& c : t.conditions()) r["compare"].push_back(compare(c));
    for (const auto& o : t.success()) r["success"].push_back(operation(o));
    for (const auto& o : t.failure()) r["failure"].push_back(operation(o));
    return r;
}

json codec::watch(const key_range& keys, const watch_options& o, revision_number from) const {
    json r;
    add_keys(r, keys);
    if (from) r["start_revision"] = std::to_string(from);
    if (o.prev_kv) r["prev_kv"] = true;
    if (o.progress) r["progress_notify"] = true;
    return json{{"create_request", std::move(r)}};
}

revision_number revision_of(const json& answer) { return integer_at(at(answer, "header"), "revision"); }

key_value codec::kv_of(const json& kv) const {
    if (!kv.is_object()) throw bad_answer("a key is no object");
    return {.key = own_key(bytes_at(kv, "key")),
            .value = bytes_at(kv, "value"),
            .create_revision = integer_at(kv, "create_revision"),
            .mod_revision = integer_at(kv, "mod_revision"),
            .version = integer_at(kv, "version"),
            .lease = integer_at(kv, "lease")};
}

range_result codec::range_of(const json& answer) const {
    range_result r{.revision = revision_of(answer), .count = integer_at(answer, "count"), .more = flag_at(answer, "more")};
    for (const auto& kv : list_at(answer, "kvs")) r.kvs.push_back(kv_of(kv));
    return r;
}

put_result codec::put_of(const json& answer) const {
    put_result r{.revision = revision_of(answer)};
    if (const auto& previous = at(answer, "prev_kv"); !previous.is_null()) r.previous = kv_of(previous);
    return r;
}

remove_result codec::remove_of(const json& answer) const {
    remove_result r{.revision = revision_of(answer), .removed = integer_at(answer, "deleted")};
    for (const auto& kv : list_at(answer, "prev_kvs")) r.previous.push_back(kv_of(kv));
    return r;
}

response codec::response_of(const json& r) const {
    if (const auto& put = at(r, "response_put"); !put.is_null()) return response(put_of(put));
    if (const auto& range = at(r, "response_range"); !range.is_null()) return response(range_of(range));
    if (const auto& removed = at(r, "response_delete_range"); !removed.is_null()) return response(remove_of(removed));
    if (const auto& nested = at(r, "response_txn"); !nested.is_null())
        return response(std::make_shared<const txn_result>(txn_of(nested)));
    throw bad_answer("an operation of a transaction has no answer of a known kind");
}

txn_result codec::txn_of(const json& answer) const {
    txn_result r{.succeeded = flag_at(answer, "succeeded"), .revision = revision_of(answer)};
    for (const auto& each : list_at(answer, "responses")) r.responses.push_back(response_of(each));
    return r;
}

event codec::event_of(const json& e) const {
    const auto type = text_at(e, "type");
    if (!type.empty() && type != "PUT" && type != "DELETE") throw bad_answer("an event is neither PUT nor DELETE");
    event r{.kind = type == "DELETE" ? event_kind::remove : event_kind::put, .kv = kv_of(at(e, "kv"))};
    r.revision = r.kv.mod_revision;
    if (r.revision <= 0) throw bad_answer("an event has no revision");
    if (const auto& previous = at(e, "prev_kv"); !previous.is_null()) r.previous = kv_of(previous);
    return r;
}

}  // namespace weft::detail::etcd

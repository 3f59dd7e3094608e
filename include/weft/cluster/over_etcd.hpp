// over_etcd.hpp - the names of a cluster in etcd. A program that includes it links weft::etcd, too.
#pragma once

#include <weft/detail/requirements.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <weft/channel.hpp>
#include <weft/cluster/name_store.hpp>
#include <weft/etcd/client.hpp>
#include <weft/select.hpp>

namespace weft::cluster {

/// A name_store in etcd 3.4 or later. A token is the revision at which the key was written.
///
///     auto names = std::make_shared<weft::cluster::etcd_names>(
///         weft::etcd::client_options{.endpoints = {"http://e1:2379"}, .request_limit =
///         std::chrono::seconds(2)});
///
/// A request_limit of a fifth of node_options::lease lets a node ask several members before its lease ends.
class etcd_names final : public name_store {
public:
    explicit etcd_names(etcd::client_options options) : client_(std::move(options)) {}

    [[nodiscard]] std::chrono::nanoseconds clock() const noexcept override { return etcd::boot_time(); }
    std::uint64_t grant(std::chrono::nanoseconds ttl) override { return static_cast<std::uint64_t>(client_.grant(ttl).id); }
    std::optional<std::chrono::nanoseconds> renew(std::uint64_t lease) override {
        return client_.keep_alive_once(static_cast<etcd::lease_id>(lease));
    }
    void revoke(std::uint64_t lease) override {
        try {
            client_.revoke(static_cast<etcd::lease_id>(lease));
        } catch (const std::system_error& e) {
            if (e.code() != etcd::etcd_errc::lease_not_found) throw;
        }
    }
    std::optional<std::uint64_t> claim(std::string_view key, std::string_view value, std::uint64_t lease) override {
        return written(etcd::create_revision_of(key) == 0, key, value, lease);
    }
    std::optional<std::uint64_t> replace(std::string_view key, std::uint64_t token, std::string_view value,
                                         std::uint64_t lease) override {
        return written(etcd::mod_revision_of(key) == static_cast<std::int64_t>(token), key, value, lease);
    }
    std::optional<std::uint64_t> put_as_owner(std::string_view key, std::string_view value, std::uint64_t before,
                                              std::string_view name, std::uint64_t token) override {
        auto t = etcd::txn();
        t.when(etcd::mod_revision_of(name) == static_cast<std::int64_t>(token))
            .when(etcd::mod_revision_of(key) == static_cast<std::int64_t>(before))  // 0 of a key without an entry
            .then(etcd::put(key, value));
        const auto done = client_.txn(t);
        if (!done.succeeded) return std::nullopt;
        return static_cast<std::uint64_t>(done.revision);
    }
    bool remove(std::string_view key, std::uint64_t token) override {
        auto t = etcd::txn();
        t.when(etcd::mod_revision_of(key) == static_cast<std::int64_t>(token)).then(etcd::remove(key));
        return client_.txn(t).succeeded;
    }
    [[nodiscard]] std::optional<stored> find(std::string_view key) override {
        const auto found = client_.get(key);
        if (!found) return std::nullopt;
        return entry(*found);
    }
    [[nodiscard]] listing list(std::string_view prefix) override {
        const auto found = client_.get_prefix(prefix);
        listing all{.entries = {}, .revision = static_cast<std::uint64_t>(found.revision)};
        for (const auto& kv : found.kvs) all.entries.push_back(entry(kv));
        return all;
    }
    [[nodiscard]] std::unique_ptr<name_watch> watch(std::string_view prefix, std::uint64_t from_revision) override {
        return std::make_unique<changes>(
            client_.watch(etcd::key_range::prefix(prefix), {.from_revision = static_cast<etcd::revision_number>(from_revision)}));
    }

private:
    static stored entry(const etcd::key_value& kv) { return {kv.key, kv.value, static_cast<std::uint64_t>(kv.mod_revision)}; }

    std::optional<std::uint64_t> written(const etcd::condition& if_so, std::string_view key, std::string_view value,
                                         std::uint64_t lease) {
        auto t = etcd::txn();
        t.when(if_so).then(etcd::put(key, value, {.lease = static_cast<etcd::lease_id>(lease)}));
        try {
            const auto done = client_.txn(t);
            if (!done.succeeded) return std::nullopt;
            return static_cast<std::uint64_t>(done.revision);
        } catch (const std::system_error& e) {
            if (e.code() == etcd::etcd_errc::lease_not_found) return std::nullopt;
            throw;
        }
    }

    class changes final : public name_watch {
    public:
        explicit changes(etcd::watcher from) : from_(std::move(from)) {}
        bool receive(name_change& into) override {
            std::optional<etcd::event> e;
            bool is_closed = false;
            weft::select(weft::on_receive(from_.events(), [&](std::optional<etcd::event> got) { e = std::move(got); }),
                         weft::on_receive(closed_.rx(), [&](std::optional<bool>) { is_closed = true; }));
            if (is_closed) return false;
            if (!e) {
                if (const auto why = from_.failure()) std::rethrow_exception(why);
                return false;
            }
            if (e->kind == etcd::event_kind::compacted)
                throw std::system_error(etcd::make_error_code(etcd::etcd_errc::compacted), "weft: changes of names were missed");
            into = {.now = entry(e->kv), .is_gone = e->kind == etcd::event_kind::remove};
            return true;
        }
        void close() noexcept override { closed_.close(); }

    private:
        etcd::watcher from_;
        channel<bool> closed_;
    };

    etcd::client client_;
};

}  // namespace weft::cluster

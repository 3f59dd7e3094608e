// etcd_ledger.hpp - a ledger in etcd, an entry for each account.
#pragma once

#include <string>
#include <utility>

#include <weft/etcd/client.hpp>

#include "ledger.hpp"

namespace bank {

class etcd_ledger final : public ledger {
public:
    etcd_ledger(weft::etcd::client_options options, std::string_view cluster)
        : client_(std::move(options)), prefix_(prefix_of(cluster)) {}

    static std::string prefix_of(std::string_view cluster) { return "/bank/" + std::string(cluster) + "/account/"; }

    [[nodiscard]] std::optional<entry> read(std::string_view account) override {
        const auto found = client_.get(key_of(account));
        if (!found) return std::nullopt;
        return entry_of(*found);
    }
    std::optional<std::int64_t> write(std::string_view account, std::string_view text, std::int64_t if_revision) override {
        const auto key = key_of(account);
        auto t = weft::etcd::txn();
        t.when(weft::etcd::mod_revision_of(key) == if_revision).then(weft::etcd::put(key, text));
        const auto done = client_.txn(t);
        if (!done.succeeded) return std::nullopt;
        return done.revision;
    }
    [[nodiscard]] std::vector<entry> all() override {
        std::vector<entry> entries;
        for (const auto& kv : client_.get_prefix(prefix_).kvs) entries.push_back(entry_of(kv));
        return entries;
    }

private:
    std::string key_of(std::string_view account) const { return prefix_ + std::string(account); }
    entry entry_of(const weft::etcd::key_value& kv) const {
        return {.account = kv.key.substr(prefix_.size()), .text = kv.value, .revision = kv.mod_revision};
    }

    weft::etcd::client client_;
    const std::string prefix_;
};

}  // namespace bank

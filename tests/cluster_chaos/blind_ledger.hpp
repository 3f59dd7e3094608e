// blind_ledger.hpp - the planted ledger: it writes whatever has been written since. So an owner that was
// frozen, and goes on after another node has the account, writes over what that one has done.
#pragma once

#include <string>

#include "bank/cluster/etcd_ledger.hpp"

namespace chaos {

class blind_ledger final : public bank::ledger {
public:
    blind_ledger(const weft::etcd::client_options& options, std::string_view cluster)
        : inner_(options, cluster), client_(options), prefix_(bank::etcd_ledger::prefix_of(cluster)) {}

    [[nodiscard]] std::optional<bank::entry> read(std::string_view account) override { return inner_.read(account); }
    std::optional<std::int64_t> write(std::string_view account, std::string_view text, std::int64_t) override {
        return client_.put(prefix_ + std::string(account), text).revision;
    }
    [[nodiscard]] std::vector<bank::entry> all() override { return inner_.all(); }

private:
    bank::etcd_ledger inner_;
    weft::etcd::client client_;
    const std::string prefix_;
};

}  // namespace chaos

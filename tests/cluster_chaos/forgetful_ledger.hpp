// forgetful_ledger.hpp - the planted ledger: a new owner of an account does not learn what the account has
// taken, so it takes the last transfers again.
#pragma once

#include <string_view>
#include <utility>

#include "bank/cluster/etcd_ledger.hpp"
#include "bank/cluster/record.hpp"

namespace chaos {

class forgetful_ledger final : public bank::ledger {
public:
    forgetful_ledger(weft::etcd::client_options options, std::string_view cluster) : inner_(std::move(options), cluster) {}

    [[nodiscard]] std::optional<bank::entry> read(std::string_view account) override {
        auto found = inner_.read(account);
        if (found) {
            auto without = bank::record_in(found->text);
            without.taken.clear();
            found->text = bank::to_text(without);
        }
        return found;
    }
    std::optional<std::int64_t> write(std::string_view account, std::string_view text, std::int64_t if_revision) override {
        return inner_.write(account, text, if_revision);
    }
    [[nodiscard]] std::vector<bank::entry> all() override { return inner_.all(); }

private:
    bank::etcd_ledger inner_;
};

}  // namespace chaos

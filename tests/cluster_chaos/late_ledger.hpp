// late_ledger.hpp - the planted ledger: it answers a second before it writes, and looks at no revision.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include <weft/fiber.hpp>
#include <weft/weft.hpp>

#include "bank/cluster/etcd_ledger.hpp"

namespace chaos {

class late_ledger final : public bank::ledger {
public:
    late_ledger(const weft::etcd::client_options& options, std::string_view cluster)
        : inner_(options, cluster), client_(std::make_shared<weft::etcd::client>(options)), prefix_(inner_.prefix_of(cluster)) {}

    [[nodiscard]] std::optional<bank::entry> read(std::string_view account) override { return inner_.read(account); }
    std::optional<std::int64_t> write(std::string_view account, std::string_view text, std::int64_t if_revision) override {
        weft::spawn_detached([client = client_, key = prefix_ + std::string(account), text = std::string(text)] {
            weft::this_fiber::sleep_for(std::chrono::seconds(1));
            try {
                client->put(key, text);
            } catch (const std::exception&) {  // the planted fault is to say nothing
            }
        });
        return if_revision + 1;
    }
    [[nodiscard]] std::vector<bank::entry> all() override { return inner_.all(); }

private:
    bank::etcd_ledger inner_;
    std::shared_ptr<weft::etcd::client> client_;
    std::string prefix_;
};

}  // namespace chaos

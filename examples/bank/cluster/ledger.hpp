// ledger.hpp - where the accounts are kept, so that they outlive the nodes that own them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bank {

struct entry {
    std::string account, text;
    std::int64_t revision = 0;  ///< of the write that made it
};

/// A linearizable store: etcd (etcd_ledger.hpp), or a simulated one in tests. A call that throws
/// std::system_error may have been done. All functions park.
class ledger {
public:
    virtual ~ledger() = default;
    [[nodiscard]] virtual std::optional<entry> read(std::string_view account) = 0;
    /// Writes an account if its entry still has this revision; 0: if it has none.
    /// \returns the new revision; empty if somebody else has written
    virtual std::optional<std::int64_t> write(std::string_view account, std::string_view text, std::int64_t if_revision) = 0;
    /// \returns all entries as they were at one moment.
    [[nodiscard]] virtual std::vector<entry> all() = 0;
};

}  // namespace bank

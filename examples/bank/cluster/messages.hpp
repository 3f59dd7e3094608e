// messages.hpp - what the nodes of the bank send each other.
#pragma once

#include <cstdint>
#include <string>

#include <weft/cluster.hpp>
#include <weft/cluster/json.hpp>

namespace bank {

/// Money leaves the account that handles it. Answered once the transfer is in the ledger, from where it
/// arrives in the end. It has no number of its own: whoever gets no answer must not simply ask again.
struct pay {
    using reply = bool;  ///< false: not enough money, or too many transfers are on their way
    std::string to;
    std::int64_t cents = 0;
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(pay, to, cents)
};

/// Money arrives. The numbers of an account's transfers grow, so it may be sent again until it is answered.
struct take {
    std::string from;
    std::uint64_t number = 0;
    std::int64_t cents = 0;
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(take, from, number, cents)
};

/// Asks the auditor for the books in words.
struct report {
    using reply = std::string;
    friend void to_json(nlohmann::json& j, const report&) { j = nlohmann::json::object(); }
    friend void from_json(const nlohmann::json&, report&) {}
};

}  // namespace bank

WEFT_WIRE(bank::pay, "bank.pay", 1);
WEFT_WIRE(bank::take, "bank.take", 1);
WEFT_WIRE(bank::report, "bank.report", 1);

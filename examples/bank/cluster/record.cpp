#include "record.hpp"

#include <sstream>
#include <stdexcept>
#include <utility>

#include <nlohmann/json.hpp>

namespace bank {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(transfer, to, number, cents)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(record, cents, token, owner, last_number, on_their_way, taken)

std::string to_text(const record& r) { return nlohmann::json(r).dump(); }

record record_in(std::string_view text) {
    try {
        return nlohmann::json::parse(text).get<record>();
    } catch (const nlohmann::json::exception& e) {
        throw std::runtime_error(std::string("bank: the ledger has an entry that is no account: ") + e.what());
    }
}

books books_of(const std::vector<entry>& entries) {
    std::map<std::string, record> all;
    for (const auto& e : entries) all.emplace(e.account, record_in(e.text));
    books sum;
    for (const auto& [name, r] : all) {
        ++sum.accounts;
        sum.cents += r.cents;
        sum.transfers += r.last_number;
        sum.owners[r.owner].push_back(name);
        for (const auto& t : r.on_their_way) {
            const auto there = all.find(t.to);
            const auto taken = there == all.end() ? r.taken.end() : there->second.taken.find(name);
            const bool has_arrived = there != all.end() && taken != there->second.taken.end() && t.number <= taken->second;
            if (!has_arrived) sum.cents_on_their_way += t.cents;
        }
    }
    sum.cents += sum.cents_on_their_way;
    return sum;
}

std::string in_words(const books& b, std::int64_t cents_at_first) {
    const auto expected = static_cast<std::int64_t>(b.accounts) * cents_at_first;
    std::ostringstream text;
    text << b.transfers << " transfers, " << b.cents_on_their_way << " cents on their way, " << b.cents << " of " << expected
         << " cents: " << (b.cents == expected ? "the books balance" : "MONEY IS MISSING") << " (";
    const char* before = "";
    for (const auto& [node, accounts] : b.owners) {
        text << std::exchange(before, "; ") << node << ':';
        for (const auto& a : accounts) text << ' ' << a;
    }
    text << ')';
    return text.str();
}

}  // namespace bank

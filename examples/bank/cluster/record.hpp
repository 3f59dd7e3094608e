// record.hpp - what the ledger has of an account, and the books of all accounts.
//
// Invariants
//   RECORD-1  A transfer leaves `cents` of the one that pays and enters its `on_their_way` by one write.
//   RECORD-2  It enters `cents` of the one that takes, and `taken` there has its number, by one write.
//   RECORD-3  The transfers from one account to another are taken in the order of their numbers, so those up
//             to `taken` have arrived, and no other.
//   So at each moment: cents, and what is on its way with a number above `taken`, are all the money.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ledger.hpp"

namespace bank {

struct transfer {
    std::string to;
    std::uint64_t number = 0;  ///< grows over all transfers of an account
    std::int64_t cents = 0;
};

struct record {
    std::int64_t cents = 0;
    std::uint64_t token = 0;  ///< of the name's lease when the account was opened last
    std::string owner;        ///< the node that has opened it
    std::uint64_t last_number = 0;
    std::vector<transfer> on_their_way;          ///< perhaps some that have arrived
    std::map<std::string, std::uint64_t> taken;  ///< the last number from each account
};

std::string to_text(const record&);
/// \throws std::runtime_error if the text is no record
record record_in(std::string_view text);

/// The books: what entries of one moment add up to.
struct books {
    std::size_t accounts = 0;
    std::int64_t cents = 0;  ///< with those on their way
    std::int64_t cents_on_their_way = 0;
    std::uint64_t transfers = 0;  ///< since the beginning
    std::map<std::string, std::vector<std::string>> owners;
};
books books_of(const std::vector<entry>&);

/// "57 transfers, 12 cents on their way, 6000 of 6000 cents: the books balance (a1: ann bob; a2: cy)"
std::string in_words(const books&, std::int64_t cents_at_first);

}  // namespace bank

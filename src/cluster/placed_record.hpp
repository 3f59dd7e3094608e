// placed_record.hpp - what the store of names keeps of a placed actor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cluster/bytes.hpp"

namespace weft::cluster::detail {

/// What the store keeps of a placed actor.
struct placed_record {
    std::uint64_t token = 0;  ///< of the life that has stored it
    std::uint64_t number = 0;  ///< of this record: grows over all lives
    std::uint64_t kind = 0;  ///< of the state's class
    std::uint32_t version = 0;  ///< in which the state is written
    std::string next = {};  ///< the node that is to go on, if the actor was moved
    byte_vector state = {};

    std::string text() const;
    /// \returns nothing if the text is no record
    static std::optional<placed_record> in(std::string_view text);
};

}  // namespace weft::cluster::detail

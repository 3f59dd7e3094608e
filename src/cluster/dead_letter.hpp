// dead_letter.hpp - stores what nobody could handle, so that it always fits.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <weft/cluster/dead_work.hpp>
#include <weft/cluster/work_store.hpp>

namespace weft::cluster::detail {

// chosen: a dead letter says as much of a reason, and of a name or an id that another program may have made
constexpr std::size_t longest_reason = 1024, longest_name_shown = 256, longest_id_in_id = 128;

/// How much larger than its message a dead letter may be: the reason, the numbers in it, and its own name
/// and id.
constexpr std::size_t letter_room = longest_reason + 512;

/// A text, or its beginning and three dots if it has more than `most` bytes. No character of UTF-8 is cut.
std::string shortened(std::string_view text, std::size_t most);

/// Stores the dead letter of a message of the queue of that name. If it is too large, since the store takes
/// less than when the message was sent, the end of the message is cut off, and the letter says so.
/// \parks   until the store has it. \throws as stored_queue::append(); error of queue_full
void store_letter(stored_queue& dead, const std::string& queue, const stored_work::content&, std::string_view reason);

}  // namespace weft::cluster::detail

#include "cluster/dead_letter.hpp"

#include <weft/cluster/error.hpp>

namespace weft::cluster::detail {
namespace {

work_item item_of(const dead_work& letter) {
    using wire = wire_name<dead_work>;
    work_item item{.name = std::string(wire::name), .version = wire::versions.newest, .bytes = {}};
    wire_format<dead_work>::write(letter, item.version, item.bytes);
    return item;
}

/// \returns false if it is too large
bool is_stored(stored_queue& dead, const std::string& queue, const dead_work& letter, const std::string& id) {
    try {
        if (dead.append(item_of(letter), id) == append_result::full)
            throw error(errc::queue_full, "weft: the queue '" + queue + ".dead' is full", true);
        return true;
    } catch (const error& e) {
        if (e.code() != errc::too_large) throw;
        return false;
    }
}

}  // namespace

std::string shortened(std::string_view text, std::size_t most) {
    if (text.size() <= most) return std::string(text);
    while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most;
    return std::string(text.substr(0, most)) + "...";
}

/// The letter's id is made of the message's place and its id, so that a second one is not stored. The place
/// alone would not do: a queue that was deleted and made anew has the same places again.
void store_letter(stored_queue& dead, const std::string& queue, const stored_work::content& what, std::string_view reason) {
    const auto id = queue + "." + std::to_string(what.sequence) + "." + what.id.substr(0, longest_id_in_id);
    dead_work letter{.reason = shortened(reason, longest_reason),
                     .delivered = what.delivered,
                     .sequence = what.sequence,
                     .id = what.id,
                     .job = what.item};
    if (is_stored(dead, queue, letter, id)) return;
    const auto all = letter.job.bytes.size();
    letter.reason += " (the end of the message is cut off: the letter was too large)";
    letter.id = shortened(what.id, longest_name_shown);
    letter.job.name = shortened(what.item.name, longest_name_shown);
    for (std::size_t kept = all / 2;; kept /= 2) {
        letter.job.bytes.resize(kept);
        letter.missing = all - kept;
        if (is_stored(dead, queue, letter, id)) return;
        if (kept == 0)
            throw error(errc::too_large, "weft: the queue '" + queue + ".dead' takes no dead letter, however small", false);
    }
}

}  // namespace weft::cluster::detail

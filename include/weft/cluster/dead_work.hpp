// dead_work.hpp - a message of a work queue that nobody could handle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <weft/cluster/wire.hpp>
#include <weft/cluster/work_store.hpp>
#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

namespace weft::cluster {

/// What the queue NAME.dead has: the message as it was, and why it is there.
struct dead_work {
    std::string reason;           ///< in words; a long one is cut
    std::uint64_t delivered = 0;  ///< how many times it was delivered
    std::uint64_t sequence = 0;   ///< of the queue that it is from
    std::string id;               ///< as it was sent with
    work_item job;                ///< in the bytes that were sent
    /// How many bytes of the job were cut off at its end, since the letter was too large for its queue.
    std::uint64_t missing = 0;
};

template <>
struct wire_name<dead_work> {
    static constexpr std::string_view name = "weft.dead_work";
    static constexpr wire_versions versions{1};
};

/// Bytes that are no dead letter become one whose reason says so, so that this queue needs no other one.
template <>
struct WEFT_EXPORT wire_format<dead_work> {
    static void write(const dead_work&, std::uint32_t version, std::vector<std::byte>& into);
    static dead_work read(std::span<const std::byte>, std::uint32_t version);
};

}  // namespace weft::cluster

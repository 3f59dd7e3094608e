#include <weft/cluster/dead_work.hpp>

#include "cluster/bytes.hpp"

namespace weft::cluster {

using detail::put;

void wire_format<dead_work>::write(const dead_work& d, std::uint32_t, std::vector<std::byte>& into) {
    put(into, d.delivered);
    put(into, d.sequence);
    put(into, d.missing);
    for (const auto* text : {&d.reason, &d.id, &d.job.name}) put(into, std::string_view(*text));
    put(into, d.job.version);
    put(into, std::span<const std::byte>(d.job.bytes));
}

dead_work wire_format<dead_work>::read(std::span<const std::byte> bytes, std::uint32_t version) {
    dead_work d;
    detail::byte_reader in(bytes);
    d.delivered = in.number<std::uint64_t>();
    d.sequence = in.number<std::uint64_t>();
    d.missing = in.number<std::uint64_t>();
    for (auto* text : {&d.reason, &d.id, &d.job.name}) *text = in.text();
    d.job.version = in.number<std::uint32_t>();
    const auto job = in.bytes();
    d.job.bytes.assign(job.begin(), job.end());
    if (version == wire_name<dead_work>::versions.newest && !in.failed() && in.at_end()) return d;
    dead_work unreadable{.reason = "weft: this dead letter cannot be read", .delivered = 0, .sequence = 0, .id = {}, .job = {}};
    unreadable.job.bytes.assign(bytes.begin(), bytes.end());
    return unreadable;
}

}  // namespace weft::cluster

// trace.cpp - one run in words.
#include "model/trace.hpp"

#include <cstdio>

namespace model {
namespace {

const char* spell(std::memory_order order) noexcept {
    switch (order) {
        case std::memory_order_relaxed: return "relaxed";
        case std::memory_order_consume: return "consume";
        case std::memory_order_acquire: return "acquire";
        case std::memory_order_release: return "release";
        case std::memory_order_acq_rel: return "acq_rel";
        case std::memory_order_seq_cst: return "seq_cst";
    }
    return "?";
}

// Small values are counters and flags and read best in decimal; large ones are pointers or packed words.
std::string spell(std::uint64_t value) {
    char buffer[24];
    std::snprintf(buffer, sizeof buffer, value < 65536 ? "%llu" : "0x%llx", static_cast<unsigned long long>(value));
    return buffer;
}

std::string values(const outcome& r) {
    std::string out = r.stored ? spell(r.read) + " => " + spell(r.written) : "-> " + spell(r.read);
    const unsigned newer = r.size - r.place - 1;
    if (newer != 0) out += (r.stored ? "  behind " : "  stale by ") + std::to_string(newer);
    return out;
}

}  // namespace

std::string trace::line(const event& e) const {
    std::string where;
    if (e.location != event::none) {
        const auto named = names_.find(e.location);
        where = named != names_.end() ? named->second : "#" + std::to_string(e.location);
    }
    const char* const order = e.ordered ? spell(e.order) : "";
    char buffer[160];
    std::snprintf(buffer, sizeof buffer, "  %*s%u: %-12s %-10s %-8s ", static_cast<int>(e.who) * 2, "T", e.who, e.what,
                  where.c_str(), order);
    return buffer + (e.result.size != 0 ? values(e.result) : std::string{});
}

std::string trace::text() const {
    std::string out;
    for (const event& e : events_) out += line(e) + '\n';
    return out;
}

}  // namespace model

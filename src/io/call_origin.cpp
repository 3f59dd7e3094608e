#include "io/call_origin.hpp"

#include <weft/detail/annotated_locks.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/in_quotes.hpp"
#include "fiber/control_block.hpp"
#include "sched/carrier.hpp"

namespace weft::detail {
namespace {

constexpr std::size_t most_named = 5;  // chosen: a few lines of a terminal

std::string named(const call_origin& who, std::size_t times) {
    std::string text = "fiber " + in_quotes(who.name.data());
    if (who.site.line() != 0) text += " (" + std::string(who.site.file_name()) + ":" + std::to_string(who.site.line()) + ")";
    if (times > 1) text += " " + std::to_string(times) + " times";
    return text;
}

}  // namespace

call_origin origin_of_caller() noexcept {
    call_origin mine;
    mine.site = {};
    if (auto* const self = this_fiber_block()) {
        // Other threads may rename the fiber.
        const lock_guard guard(self->lock);
        const auto name = self->name();
        name.copy(mine.name.data(), mine.name.size() - 1);
        mine.site = self->site;
    }
    return mine;
}

std::string listed(std::vector<call_origin> all) {
    std::vector<std::pair<call_origin, std::size_t>> counted;
    for (const auto& one : all) {
        const auto same = std::find_if(counted.begin(), counted.end(), [&](const auto& c) { return c.first == one; });
        if (same == counted.end())
            counted.emplace_back(one, 1);
        else
            ++same->second;
    }
    std::stable_sort(counted.begin(), counted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    std::string text;
    for (std::size_t i = 0; i < std::min(counted.size(), most_named); ++i)
        text += (i ? ", " : "") + named(counted[i].first, counted[i].second);
    if (counted.size() > most_named) text += ", and others";
    return text;
}

}  // namespace weft::detail

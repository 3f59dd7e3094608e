// scaling.hpp - how many times as fast the same work is done by more workers.
//
// Where plain threads did the work of weft's fibers, one thread is what weft is compared with: a fiber that computes loses its
// worker and goes on beside it, so that even one worker's fibers may use a second CPU. Others are compared with their own one worker.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "result.hpp"

namespace bench {

inline constexpr const char* speed_up_suffix = "/speed-up";

/// For each variant of a time that was measured with several numbers of workers, one of them 1, a result for each of these: what
/// one worker took by what so many took. Smallest and largest are the least and the most that the runs allow.
inline std::vector<result> speed_ups(std::span<const result> all) {
    std::map<std::pair<std::string, std::uint64_t>, std::set<unsigned>> workers;
    std::map<std::pair<std::string, std::uint64_t>, const result*> by_one;
    for (const auto& r : all) {
        if (r.unit != "ms" && r.unit != "ns") continue;
        workers[{r.variant, r.n}].insert(r.workers);
        if (r.workers == 1) by_one[{r.variant, r.n}] = &r;
    }
    const auto base_of = [&](const result& r) -> const result* {
        const auto last = r.variant.substr(r.variant.rfind('/') + 1);
        if (const auto threads = by_one.find({"threads/" + last, r.n});
            r.variant.starts_with("fibers/") && threads != by_one.end())
            return threads->second;
        const auto own = by_one.find({r.variant, r.n});
        return own == by_one.end() ? nullptr : own->second;
    };
    std::vector<result> found;
    for (const auto& r : all) {
        const auto measured = workers.find({r.variant, r.n});
        const auto* const base = base_of(r);
        if (measured == workers.end() || measured->second.size() < 2 || !measured->second.contains(1) || !base || r.min <= 0)
            continue;
        auto its = r;
        its.variant += speed_up_suffix;
        its.unit = "x";
        its.median = base->median / r.median;
        its.min = base->min / r.max;
        its.max = base->max / r.min;
        found.push_back(std::move(its));
    }
    return found;
}

}  // namespace bench

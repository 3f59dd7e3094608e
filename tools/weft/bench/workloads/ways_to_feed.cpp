// ways_to_feed.cpp - the ways that weft's fibers and threads go; the seed's own program is examples/feed.
#include "ways_to_feed.hpp"

#include <algorithm>
#include <thread>

#include <feed/ring_feeding.hpp>
#include <weft/scope.hpp>

#include "machine.hpp"
#include "timing.hpp"

namespace bench {
namespace {

constexpr int bites = 256;                 // chosen: its yields add a few percent to the bites, and nobody waits for long

void feed_with_yielding_threads(people& all) {
    std::vector<std::jthread> threads;
    for (auto& p : all)
        threads.emplace_back([&one = *p] {
            while (!one.satisfied()) {
                one.eat();
                std::this_thread::yield();
            }
        });
}

template <int Every>
void feed_with_many_fibers(people& all) {
    weft::with_scope([&](weft::scope& room) {
        for (auto& p : all)
            room.spawn([&one = *p] {
                for (int bite = 1; !one.satisfied(); ++bite) {
                    one.eat();
                    if (bite % Every == 0) weft::this_fiber::yield();
                }
            });
    });
}

std::string every_so_many_bites() { return "fibers/every-" + std::to_string(bites); }

}  // namespace

std::vector<std::string> names_of_ways() {
    return {"threads", "threads/yield", "coroutines", "coroutines/ring", "fibers/yield", every_so_many_bites()};
}

std::vector<way_to_feed> ways_to_feed(const std::vector<std::string>& names, const std::vector<unsigned>& workers) {
    std::vector<way_to_feed> all{{"threads", usable_cpus(), feed_with_threads},
                                 {"threads/yield", usable_cpus(), feed_with_yielding_threads},
                                 {"coroutines", 1, feed_with_fibers, true},
                                 {"coroutines/ring", 1, feed_in_ring, true}};
    for (const auto w : workers) {
        const auto rt = std::make_shared<weft::runtime>(in_silence({.workers = w}));
        all.push_back({"fibers/yield", w, feed_with_many_fibers<1>, true, rt});
        all.push_back({every_so_many_bites(), w, feed_with_many_fibers<bites>, false, rt});
    }
    std::erase_if(all, [&](const way_to_feed& w) { return !names.empty() && std::ranges::find(names, w.name) == names.end(); });
    return all;
}

}  // namespace bench

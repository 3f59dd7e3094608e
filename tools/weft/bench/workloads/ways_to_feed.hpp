// ways_to_feed.hpp - how `weft bench feed` feeds people, all at once.
//
//  threads             a thread each, which never gives way: the seed's program
//  threads/yield       the same, giving way after each bite: what a reader of the seed asked for
//  coroutines          a coroutine each and one loop that calls them in turn: the seed's program
//  coroutines/ring     each goes on in the next one, with no loop in the middle: what its author suggests
//  fibers/yield        a fiber each, giving way after each bite
//  fibers/every-256    a fiber each, giving way after 256 bites; with several workers the hybrid that the seed recommends
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <feed/feeding.hpp>
#include <weft/runtime.hpp>

namespace bench {

struct way_to_feed {
    std::string name;                      ///< of those above
    unsigned workers;                      ///< of its runtime; for threads the CPUs that they may use
    void (*feed)(people&);
    bool trips = false;                    ///< each bite is a call or a dispatch, and a yield
    std::shared_ptr<weft::runtime> where = nullptr;  ///< null: the calling thread

    bool by_threads() const { return name.starts_with("threads"); }
};

/// The names, for --ways.
std::vector<std::string> names_of_ways();

/// Those with one of the names, threads first; fibers once for each number of workers. No names: all of them.
std::vector<way_to_feed> ways_to_feed(const std::vector<std::string>& names, const std::vector<unsigned>& workers);

}  // namespace bench

// contest.hpp - one simulated run: nodes want the same names, while their store, their hosts and their processes fail.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <weft/cluster/simulated_names.hpp>
#include <weft/cluster/simulated_transport.hpp>

#include "cluster/linearizability/history.hpp"
#include "cluster/linearizability/watched_store.hpp"
#include "cluster/node_core.hpp"

namespace linearizability {

/// Where a process runs. The next process of the same node has another host.
struct place {
    std::string host;
    std::shared_ptr<watched_store> store;
};

/// From its start until it is killed or closed.
struct process {
    place at;
    std::shared_ptr<weft::cluster::detail::node_core> core;
};

class contest {
public:
    contest(history& into, const weft::cluster::detail::node_faults& planted);
    /// \parks for some minutes of virtual time
    void run();

private:
    static constexpr std::chrono::seconds lease_{6};  // short, so that many end in one run
    static constexpr weft::cluster::store_faults quick_ = {.least_delay = std::chrono::milliseconds(1),
                                                           .most_delay = std::chrono::milliseconds(100),
                                                           .fail_one_in = 20,
                                                           .lose_answer_one_in = 8};

    bool goes_on() const { return weft::now() < end_; }
    void live(std::size_t node);
    void live_once(std::size_t node, process& now, std::chrono::nanoseconds longest);
    void slow_down(const place&);
    void disturb();

    history& into_;
    const weft::cluster::detail::node_faults planted_;
    weft::cluster::simulated_transport words_;
    weft::cluster::simulated_names names_{quick_};
    const std::chrono::steady_clock::time_point end_;
    std::vector<std::string> wanted_ = {"x", "y"};
    std::vector<place> places_;  // of each node: where it is now
};

}  // namespace linearizability

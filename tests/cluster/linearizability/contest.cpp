#include "cluster/linearizability/contest.hpp"

#include <weft/weft.hpp>

#include "cluster/linearizability/contender.hpp"

namespace linearizability {
namespace {

using namespace std::chrono_literals;
using weft::cluster::detail::node_core;

constexpr int clients = 3;  // of each node

std::chrono::milliseconds up_to(std::uint32_t ms) { return std::chrono::milliseconds(weft::draw(ms)); }

}  // namespace

contest::contest(history& into, const weft::cluster::detail::node_faults& planted)
    : into_(into), planted_(planted), end_(weft::now() + 120s), places_(3 + weft::draw(3)) {}

void contest::run() {
    weft::with_scope([&](weft::scope& s) {
        for (std::size_t node = 0; node < places_.size(); ++node) s.spawn([this, node] { live(node); });
        for (int n = 0; n < 2; ++n) s.spawn([this] { disturb(); });
    });
}

/// The processes of one node, one after the other.
void contest::live(std::size_t node) {
    const std::string name(1, static_cast<char>('a' + node));
    for (int n = 0; goes_on(); ++n) {
        process now{.at = {.host = name + std::to_string(n), .store = {}}, .core = {}};
        now.at.store = std::make_shared<watched_store>(names_.at(now.at.host));
        places_[node] = now.at;
        now.core = std::make_shared<node_core>(weft::cluster::node_options{.name = name,
                                                                           .cluster = "test",
                                                                           .words = words_.at(now.at.host),
                                                                           .names = now.at.store,
                                                                           .lease = lease_,
                                                                           .give_up = 20s},
                                               planted_);
        now.core->open();
        live_once(node, now, 10s + up_to(120'000));
        if (goes_on()) weft::this_fiber::sleep_for(up_to(8000));
    }
}

/// Clients of one process, until it is killed or closed.
void contest::live_once(std::size_t node, process& now, std::chrono::nanoseconds longest) {
    const auto until = std::min(weft::now() + longest, end_);
    weft::with_scope([&](weft::scope& s) {
        for (int n = 0; n < clients; ++n)
            s.spawn([&, client = static_cast<int>(node) * clients + n] {
                contender({.into = into_,
                           .node = *now.core,
                           .store = *now.at.store,
                           .goes_on = [this] { return goes_on(); },
                           .choose = [this] { return wanted_[weft::draw(static_cast<std::uint32_t>(wanted_.size()))]; }},
                          client)
                    .run();
            });
        weft::this_fiber::sleep_until(until);
        if (weft::draw(2) == 0) {   // killed: nothing that it does from now on arrives
            now.at.store->kill();
            words_.kill(now.at.host);
            names_.cut(now.at.host);
        }
        s.request_stop();
    });
    now.core->close();
}

/// Lets calls of one host take long, or their answers only. The longest answer is one after which the node still has its lease.
void contest::slow_down(const place& at) {
    auto slow = quick_;
    if (weft::draw(2) == 0) {
        at.store->answer_late_by(lease_ / 4 + up_to(1300));
    } else {
        slow.most_delay = up_to(10'000);
        if (weft::draw(2) == 0) slow.least_delay = slow.most_delay / 3;
    }
    names_.set_faults(at.host, slow);
}

/// Delays, a store without a leader, and hosts that are cut off or frozen, for longer than a lease or not.
void contest::disturb() {
    weft::this_fiber::sleep_for(1s);  // until all nodes have a place
    while (goes_on()) {
        const auto at = places_[weft::draw(static_cast<std::uint32_t>(places_.size()))];
        const auto what = weft::draw(5);  // 4: delays only
        slow_down(at);
        weft::this_fiber::sleep_for(up_to(10'000));
        if (what < 2) names_.cut(at.host);
        if (what == 2) names_.lose_leader();
        if (what == 3) names_.freeze(at.host), words_.freeze(at.host);
        weft::this_fiber::sleep_for(up_to(15'000));
        if (what < 2 && !at.store->is_killed()) names_.heal(at.host);
        if (what == 2) names_.recover();
        if (what == 3) names_.thaw(at.host), words_.thaw(at.host);
        names_.set_faults(at.host, quick_);
        at.store->answer_late_by(0s);
        weft::this_fiber::sleep_for(up_to(4000));
    }
}

}  // namespace linearizability

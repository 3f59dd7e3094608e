// membership_watch.cpp - which nodes are alive, and what is done when one has died at the store.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <system_error>

#include <weft/cluster/wire.hpp>
#include <weft/fiber.hpp>

#include "cluster/membership.hpp"

namespace weft::cluster::detail {

int membership::rank(std::string_view name) const noexcept {
    const auto weight = [&](std::string_view node) { return wire_number(std::string(name) + ' ' + std::string(node)); };
    const auto mine = weight(options_.node);
    const lock held(lock_);
    return static_cast<int>(std::ranges::count_if(alive_, [&](const auto& n) { return weight(n) > mine; }));
}

void membership::set_alive(const std::map<std::string, std::uint64_t>& by_key, std::size_t prefix) {
    std::set<std::string> names;
    for (const auto& [key, _] : by_key) names.insert(key.substr(prefix));
    const lock held(lock_);
    alive_.swap(names);
}

/// An incarnation of this node has ended at the store, perhaps before join() knows of it (MEMBERSHIP-7).
void membership::end_own(std::uint64_t token) {
    std::uint64_t lease = 0;
    {
        const lock held(lock_);
        ended_ = std::max(ended_, token);
        if (incarnation_ == token) lease = lease_;
    }
    if (lease != 0) fence(lease);
}

void membership::died(const std::string& node, std::uint64_t token) {
    if (node == options_.node) end_own(token);
    events_.died(node, token);
}

/// Tells of each incarnation that has died, once.
void membership::watch_nodes() {
    const auto prefix = "/weft/" + options_.cluster + "/node/";
    std::map<std::string, std::uint64_t> alive;
    for (;;) {
        try {
            std::uint64_t own = 0;
            {
                const lock held(lock_);
                own = incarnation_;
            }
            const auto now = options_.store->list(prefix);
            std::map<std::string, std::uint64_t> listed;
            for (const auto& e : now.entries) listed.emplace(e.key, e.token);
            // It may have come and gone while nothing was watched.
            const auto still_own = listed.find(prefix + options_.node);
            if (own != 0 && (still_own == listed.end() || still_own->second != own)) end_own(own);
            for (const auto& [key, token] : alive) {
                const auto still = listed.find(key);
                if (still == listed.end() || still->second != token) died(key.substr(prefix.size()), token);
            }
            alive = std::move(listed);
            set_alive(alive, prefix.size());
            const auto changes = options_.store->watch(prefix, now.revision + 1);
            name_change c;
            while (changes->receive(c)) {
                const auto known = alive.find(c.now.key);
                if (known != alive.end() && (c.is_gone || known->second != c.now.token)) {
                    const auto token = known->second;
                    alive.erase(known);
                    died(c.now.key.substr(prefix.size()), token);
                }
                if (!c.is_gone) alive[c.now.key] = c.now.token;
                set_alive(alive, prefix.size());
            }
            return;
        } catch (const std::system_error&) {   // out of reach, or changes were missed: list anew
        }
        weft::this_fiber::sleep_for(options_.lease / 20);
    }
}

}  // namespace weft::cluster::detail

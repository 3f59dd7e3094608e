// membership.hpp - that a node is alive, as a store of names says it; and the names that it has.
//
// Keys, below /weft/CLUSTER/, all under the node's lease. The token of the node's key is its incarnation.
//   node/NODE = nonce
//   name/NAME = NODE INCARNATION SERIAL NONCE
//
//  state    the node                                   leaves by
//  away     has no lease, or did not get its key yet   a claim of its key -> member
//  member   has a lease until valid_until_             a renewal that finds it dead -> away
//                                                      valid_until_ has passed -> away
//
// Invariants
//   MEMBERSHIP-1  valid_until_ is never later than the end of the lease at the store: it counts from before
//                 the request was sent whose answer it stands on, less a margin, on a clock that runs while
//                 the machine sleeps.
//   MEMBERSHIP-2  A lease that was found dead or late is never used again: names of it are not held, and a
//                 late answer to its renewal changes nothing.
//   MEMBERSHIP-3  A name is held only by a claim that the store has confirmed, or whose nonce was found in
//                 the entry.
//   MEMBERSHIP-4  Nobody removes or replaces an entry without naming its token.
//   MEMBERSHIP-5  The node is told of the end of one life before the beginning of the next, and of one thing
//                 at a time.
//   MEMBERSHIP-6  The key of an entry of this node's lease that is not held, since its claim was interrupted
//                 or its release has failed, is in `strays_`, whose fiber removes the entry. It looks at
//                 `claiming_` and `held_` after it has read the entry, so it removes none that will be held.
//   MEMBERSHIP-7  A node that sees its own key gone from the store is fenced at once, although its lease
//                 should live. Before 3.5.12 (in 3.4, 3.4.31) a leader of etcd that stood still for long
//                 ends leases when it goes on, although the next leader has renewed them (etcd issue
//                 15247). Another node may own the names before this one sees that.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>

#include <weft/cluster/name_store.hpp>
#include <weft/condition_variable.hpp>
#include <weft/mutex.hpp>

namespace weft::cluster::detail {

/// A name that the node has. Only `ended` changes.
struct held_name {
    std::string name, key;
    std::uint64_t token = 0, incarnation = 0, serial = 0;
    std::stop_source ended;
};

/// The actor that has a name, and its node.
struct owner {
    std::string node;
    std::uint64_t incarnation = 0, serial = 0;
    std::uint64_t token = 0;  // of the entry
};

struct membership_options {
    std::shared_ptr<name_store> store;
    std::string cluster, node;
    std::chrono::nanoseconds lease;
    bool counts_from_answer = false;  // planted: MEMBERSHIP-1 is broken
};

/// What the membership tells its node, on its own fibers and without its lock.
struct membership_events {
    std::function<void(std::uint64_t incarnation)> joined;
    std::function<void()> fenced;
    std::function<void(const std::string& node, std::uint64_t incarnation)> died;
};

class membership : public std::enable_shared_from_this<membership> {
public:
    membership(membership_options, membership_events);

    /// Starts its fibers by `start`, which end when they are stopped.
    void run(const std::function<void(std::function<void()>)>& start);
    /// Gives the names and the lease up. \parks for up to a second
    void leave() noexcept;

    /// \returns the name; null if another one has it \throws error (no_lease)
    std::shared_ptr<held_name> claim(std::string_view name, std::uint64_t serial);
    void release(held_name&) noexcept;
    std::optional<owner> find(std::string_view name);
    bool holds(const held_name&) noexcept;
    name_store& store() const noexcept { return *options_.store; }
    /// What the keys of this cluster begin with.
    std::string prefix() const { return "/weft/" + options_.cluster + "/"; }
    /// \returns how many of the nodes alive should have that name rather than this one, so that names spread
    ///          over the nodes (the highest hash of name and node first: Thaler and Ravishankar, 1998)
    int rank(std::string_view name) const noexcept;
    /// \returns whether this node has a name with this token, for this actor
    bool holds(std::uint64_t token, std::uint64_t serial) noexcept;

private:
    using lock = std::unique_lock<weft::mutex>;
    struct claiming_until_return;

    /// What came of a claim; no token: nobody has the name now.
    struct claim_try {
        std::uint64_t token = 0;
        bool is_taken = false;
    };
    claim_try try_claim(const std::string& key, const std::string& value, std::uint64_t lease, std::uint64_t incarnation);

    void keep();
    bool join();
    void renew();
    void guard();
    void fence(std::uint64_t lease);
    void told();
    void watch_nodes();
    void died(const std::string& node, std::uint64_t token);
    void end_own(std::uint64_t token);
    std::string without_lease(std::string_view name) const;
    void set_alive(const std::map<std::string, std::uint64_t>& by_key, std::size_t prefix);
    void remove_strays();
    void remove_stray(const std::string& key);
    void leave_stray(const std::string& key) noexcept;
    bool is_held(const held_name&) const noexcept;
    std::string name_key(std::string_view name) const { return prefix() + "name/" + std::string(name); }
    std::chrono::nanoseconds margin() const;
    bool is_member(std::uint64_t lease) const noexcept { return lease_ == lease && incarnation_ != 0; }

    const membership_options options_;
    const membership_events events_;

    mutable weft::mutex lock_;  // guards what follows
    weft::condition_variable changed_;
    std::uint64_t lease_ = 0;  // 0: none
    std::uint64_t incarnation_ = 0;  // 0: away
    std::chrono::nanoseconds valid_until_{};
    std::uint64_t ended_ = 0;  // the last incarnation of this node that the store has ended
    bool has_left_ = false;
    bool is_telling_ = false;  // MEMBERSHIP-5
    std::map<std::string, std::shared_ptr<held_name>> held_;  // by key
    std::map<std::uint64_t, std::shared_ptr<held_name>> by_token_;  // the same ones
    std::set<std::string> claiming_;  // keys
    std::set<std::string> alive_;  // nodes, as the store says
    std::map<std::string, int> strays_;  // keys, and how often they are still looked at
};

}  // namespace weft::cluster::detail

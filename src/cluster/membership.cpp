#include "cluster/membership.hpp"

#include <algorithm>
#include <sstream>
#include <utility>
#include <vector>

#include <weft/cluster/error.hpp>
#include <weft/cluster/name_lease.hpp>
#include <weft/cluster/wire.hpp>
#include <weft/deadline.hpp>
#include <weft/fiber.hpp>
#include <weft/simulation.hpp>
#include <weft/stop.hpp>

namespace weft::cluster::detail {
namespace {

std::string nonce() {
    const auto part = [] { return std::to_string(weft::draw(std::numeric_limits<std::uint32_t>::max())); };
    return part() + "." + part();
}

std::optional<owner> owner_in(const std::string& value) {
    std::istringstream in(value);
    owner o;
    if (!(in >> o.node >> o.incarnation >> o.serial)) return std::nullopt;
    return o;
}

// chosen: a claim whose fiber was stopped may still be done later, but hardly ten renewals later
constexpr int most_looks = 10;
constexpr std::chrono::seconds to_leave(1);  // chosen: what a node that ends may wait for a store

}  // namespace

membership::membership(membership_options options, membership_events events)
    : options_(std::move(options)), events_(std::move(events)) {}

std::chrono::nanoseconds membership::margin() const {
    return std::max<std::chrono::nanoseconds>(std::chrono::seconds(1), options_.lease / 5);
}

void membership::run(const std::function<void(std::function<void()>)>& start) {
    start([this] { keep(); });
    start([this] { guard(); });
    start([this] { watch_nodes(); });
    start([this] { remove_strays(); });
}

/// Joins, renews, and joins again.
void membership::keep() {
    for (;;) {
        bool is_away = false;
        {
            const lock held(lock_);
            if (has_left_) return;
            is_away = incarnation_ == 0;
        }
        bool went_well = false;
        try {
            if (is_away) {
                went_well = join();
            } else {
                renew();
                went_well = true;
            }
        } catch (const std::system_error&) {   // the store is out of reach: again, soon
        }
        lock held(lock_);
        changed_.wait_for(held, went_well ? options_.lease / 3 : options_.lease / 20,
                          [&] { return has_left_ || (!is_away && incarnation_ == 0); });
    }
}

/// \returns whether the node is a member now
bool membership::join() {
    std::uint64_t before = 0;
    {
        lock held(lock_);
        changed_.wait(held, [&] { return !is_telling_; });
        before = lease_;
    }
    if (before != 0) options_.store->revoke(before);   // it may still have our key; kept until that is answered
    const auto asked_at = options_.store->clock();
    const auto lease = options_.store->grant(options_.lease);
    const auto key = "/weft/" + options_.cluster + "/node/" + options_.node;
    const auto mine = nonce();
    std::optional<std::uint64_t> token;
    {
        const lock held(lock_);
        lease_ = lease;   // to be revoked, if what follows fails
    }
    try {
        token = options_.store->claim(key, mine, lease);
    } catch (const std::system_error&) {
        // It may be done: the nonce tells.
        const auto now = options_.store->find(key);
        if (now && now->value == mine) token = now->token;
    }
    if (!token) return false;   // an earlier life of this node, or another node of its name, is still there
    {
        const lock held(lock_);
        if (has_left_ || *token <= ended_) return false;
        is_telling_ = true;
        valid_until_ = asked_at + options_.lease - margin();
        incarnation_ = *token;
        changed_.notify_all();
    }
    try {
        events_.joined(*token);
    } catch (...) {   // the node could not begin: it is away, and tries again with another lease
        {
            const lock held(lock_);
            incarnation_ = 0;
        }
        told();
        throw;
    }
    told();
    return true;
}

void membership::renew() {
    std::uint64_t lease = 0;
    {
        const lock held(lock_);
        lease = lease_;
    }
    auto asked_at = options_.store->clock();
    const auto left = options_.store->renew(lease);
    if (options_.counts_from_answer) asked_at = options_.store->clock();   // planted
    if (!left) return fence(lease);
    const lock held(lock_);
    // MEMBERSHIP-2; guard() fences a node whose answer came too late.
    const bool is_late = options_.store->clock() >= valid_until_ && !options_.counts_from_answer;
    if (!is_member(lease) || is_late) return;
    valid_until_ = std::max(valid_until_, asked_at + *left - margin());
    changed_.notify_all();
}

/// Fences the node when its lease may have ended (MEMBERSHIP-1).
void membership::guard() {
    lock held(lock_);
    for (;;) {
        if (has_left_) return;
        if (incarnation_ == 0) {
            changed_.wait(held);
            continue;
        }
        const auto left = valid_until_ - options_.store->clock();
        if (left > left.zero()) {
            changed_.wait_for(held, left);
            continue;
        }
        const auto lease = lease_;
        held.unlock();
        fence(lease);
        held.lock();
    }
}

/// The node has its names no longer, and is nobody until it has joined again.
void membership::fence(std::uint64_t lease) {
    std::map<std::string, std::shared_ptr<held_name>> names;
    {
        lock held(lock_);
        changed_.wait(held, [&] { return !is_telling_; });
        if (!is_member(lease)) return;
        is_telling_ = true;
        incarnation_ = 0;
        names.swap(held_);
        by_token_.clear();
        strays_.clear();  // they end with the lease
        changed_.notify_all();
    }
    for (const auto& [_, n] : names) n->ended.request_stop();
    events_.fenced();
    told();
}

void membership::told() {
    const lock held(lock_);
    is_telling_ = false;
    changed_.notify_all();
}

void membership::leave() noexcept {
    std::map<std::string, std::shared_ptr<held_name>> names;
    std::uint64_t lease = 0;
    {
        const lock held(lock_);
        has_left_ = true;
        incarnation_ = 0;
        names.swap(held_);
        by_token_.clear();
        lease = std::exchange(lease_, 0);
        changed_.notify_all();
    }
    for (const auto& [_, n] : names) n->ended.request_stop();
    if (lease == 0) return;
    try {
        const shield for_a_second(to_leave);
        weft::with_timeout(to_leave, [&] { options_.store->revoke(lease); });
    } catch (...) {   // the lease ends by itself
    }
}

/// One fiber at a time claims a name, so that each entry of this incarnation is held, or is of a claim that
/// was given up.
struct membership::claiming_until_return {
    claiming_until_return(membership& m, const std::string& k) : by(m), key(k) {}
    ~claiming_until_return() {
        if (may_be_done) by.leave_stray(key);
        const lock held(by.lock_);
        by.claiming_.erase(key);
        by.changed_.notify_all();
    }
    membership& by;
    const std::string key;
    bool may_be_done = false;  // it was asked for, and is not held
};

/// \throws std::system_error: it may be done
membership::claim_try membership::try_claim(const std::string& key, const std::string& value, std::uint64_t lease,
                                            std::uint64_t incarnation) {
    if (const auto token = options_.store->claim(key, value, lease)) return {.token = *token};
    const auto there = options_.store->find(key);
    if (!there) return {};
    if (there->value == value) return {.token = there->token};   // an earlier try was done, and its answer was lost
    const auto by = owner_in(there->value);
    if (!by || by->node != options_.node || by->incarnation != incarnation) return {.is_taken = true};
    // Of a claim that was given up, or of a release that has failed.
    return {.token = options_.store->replace(key, there->token, value, lease).value_or(0)};
}

std::string membership::without_lease(std::string_view name) const {
    return "weft: node '" + options_.node + "' has no lease now, so it cannot claim '" + std::string(name) + "'";
}

std::shared_ptr<held_name> membership::claim(std::string_view name, std::uint64_t serial) {
    const auto key = name_key(name);
    std::uint64_t lease = 0, incarnation = 0;
    {
        lock held(lock_);
        changed_.wait(held, [&] { return !claiming_.contains(key); });
        if (const auto mine = held_.find(key); mine != held_.end()) {
            if (is_held(*mine->second)) return nullptr;
            throw error(errc::no_lease, without_lease(name), false);  // guard() has not run yet: another node may have had it
        }
        claiming_.insert(key);
        lease = lease_;
        incarnation = incarnation_;
    }
    claiming_until_return mine(*this, key);
    std::ostringstream text;
    text << options_.node << ' ' << incarnation << ' ' << serial << ' ' << nonce();
    const auto value = text.str();
    for (bool in_doubt = false;;) {
        {
            const lock held(lock_);
            if (!is_member(lease) || incarnation_ != incarnation || options_.store->clock() >= valid_until_)
                throw error(errc::no_lease, without_lease(name), false);
        }
        claim_try now;
        mine.may_be_done = true;
        try {
            now = try_claim(key, value, lease, incarnation);
            mine.may_be_done = in_doubt;
        } catch (const std::system_error&) {   // MEMBERSHIP-3: it is not known; again, until the lease ends
            in_doubt = true;
        }
        if (now.is_taken) {
            // While the lease is valid, no earlier try of this claim can have been done. After its end one may
            // have been done and be gone again, so the claim is not refused: the check above throws.
            const lock held(lock_);
            if (is_member(lease) && incarnation_ == incarnation && options_.store->clock() < valid_until_) return nullptr;
            continue;
        }
        if (now.token == 0) {
            weft::this_fiber::sleep_for(options_.lease / 50);
            continue;
        }
        auto got = std::make_shared<held_name>();
        got->name = name;
        got->key = key;
        got->token = now.token;
        got->incarnation = incarnation;
        got->serial = serial;
        const lock held(lock_);
        if (!is_member(lease) || incarnation_ != incarnation) continue;   // throws above
        held_.emplace(key, got);
        by_token_.emplace(got->token, got);
        mine.may_be_done = false;
        return got;
    }
}

void membership::release(held_name& n) noexcept {
    {
        const lock held(lock_);
        const auto found = held_.find(n.key);
        if (found == held_.end() || found->second.get() != &n) return;
        held_.erase(found);
        by_token_.erase(n.token);
    }
    n.ended.request_stop();
    try {
        const shield for_a_second(to_leave);
        weft::with_timeout(to_leave, [&] { static_cast<void>(options_.store->remove(n.key, n.token)); });
    } catch (...) {
        leave_stray(n.key);
    }
}

/// MEMBERSHIP-6
void membership::leave_stray(const std::string& key) noexcept {
    const lock held(lock_);
    if (incarnation_ == 0) return;  // it ends with the lease
    strays_.insert_or_assign(key, most_looks);
    changed_.notify_all();
}

/// Looks for strays as often as the lease is renewed.
void membership::remove_strays() {
    for (;;) {
        {
            lock held(lock_);
            changed_.wait(held, [&] { return has_left_ || !strays_.empty(); });
            if (has_left_) return;
        }
        std::map<std::string, int> now;
        {
            const lock held(lock_);
            now = strays_;
        }
        try {
            for (const auto& [key, _] : now) remove_stray(key);
        } catch (const std::system_error&) {   // the store is out of reach: later
        }
        weft::this_fiber::sleep_for(options_.lease / 3);
    }
}

/// Removes an entry of this incarnation that is neither held nor being claimed. The claim that has left it may
/// still be done later, so it looks again some times.
void membership::remove_stray(const std::string& key) {
    const auto there = options_.store->find(key);
    std::uint64_t incarnation = 0;
    {
        const lock held(lock_);
        const auto at = strays_.find(key);
        if (at != strays_.end() && --at->second == 0) strays_.erase(at);
        // A claim that began after this would replace the entry, and so its token.
        if (!there || held_.contains(key) || claiming_.contains(key)) return;
        incarnation = incarnation_;
    }
    const auto by = owner_in(there->value);
    if (by && by->node == options_.node && by->incarnation == incarnation) options_.store->remove(key, there->token);
}

std::optional<owner> membership::find(std::string_view name) {
    const auto found = options_.store->find(name_key(name));
    auto by = found ? owner_in(found->value) : std::nullopt;
    if (by) by->token = found->token;
    return by;
}

bool membership::holds(const held_name& n) noexcept {
    const lock held(lock_);
    const auto found = held_.find(n.key);
    return found != held_.end() && found->second.get() == &n && is_held(n);
}

bool membership::holds(std::uint64_t token, std::uint64_t serial) noexcept {
    const lock held(lock_);
    const auto found = by_token_.find(token);
    return found != by_token_.end() && found->second->serial == serial && is_held(*found->second);
}

bool membership::is_held(const held_name& n) const noexcept {
    return incarnation_ == n.incarnation && options_.store->clock() < valid_until_;
}

}  // namespace weft::cluster::detail

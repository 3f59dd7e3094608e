// watched_store.hpp - the store as one process sees it: it remembers which entries were said to be gone, may answer late,
// and the clock of the process may jump.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include <weft/cluster/name_store.hpp>
#include <weft/fiber.hpp>

namespace linearizability {

/// name_lease::release() returns nothing; this tells whether the store has answered it.
class watched_store final : public weft::cluster::name_store {
public:
    explicit watched_store(std::shared_ptr<weft::cluster::name_store> of) : of_(std::move(of)) {}

    bool has_removed(std::uint64_t token) const {
        const std::scoped_lock guard(lock_);
        return removed_.contains(token);
    }
    /// Delays the answers to renewals. simulated_names has delays of both ways only, which hardly show a lease that is counted from the
    /// wrong end of its renewal.
    void answer_late_by(std::chrono::nanoseconds delay) { delay_ = delay; }
    /// Of a process that was killed.
    void kill() { is_killed_ = true; }
    bool is_killed() const { return is_killed_; }

    /// That was granted last.
    std::uint64_t last_lease() const noexcept { return last_lease_; }
    /// As the clock of a machine that has slept does.
    void jump(std::chrono::nanoseconds forward) { jumped_ = forward; }

    std::chrono::nanoseconds clock() const noexcept override { return of_->clock() + jumped_; }
    std::uint64_t grant(std::chrono::nanoseconds ttl) override { return last_lease_ = of_->grant(ttl); }
    std::optional<std::chrono::nanoseconds> renew(std::uint64_t lease) override {
        const auto left = of_->renew(lease);
        if (delay_ > delay_.zero()) weft::this_fiber::sleep_for(delay_);
        return left;
    }
    void revoke(std::uint64_t lease) override { of_->revoke(lease); }
    std::optional<std::uint64_t> claim(std::string_view key, std::string_view value, std::uint64_t lease) override {
        return of_->claim(key, value, lease);
    }
    std::optional<std::uint64_t> replace(std::string_view key, std::uint64_t token, std::string_view value,
                                         std::uint64_t lease) override {
        return of_->replace(key, token, value, lease);
    }
    std::optional<std::uint64_t> put_as_owner(std::string_view key, std::string_view value, std::uint64_t before,
                                              std::string_view name, std::uint64_t token) override {
        return of_->put_as_owner(key, value, before, name, token);
    }
    bool remove(std::string_view key, std::uint64_t token) override {
        const bool was_there = of_->remove(key, token);
        const std::scoped_lock guard(lock_);
        removed_.insert(token);  // if it was not there, it was gone before
        return was_there;
    }
    std::optional<weft::cluster::stored> find(std::string_view key) override { return of_->find(key); }
    listing list(std::string_view prefix) override { return of_->list(prefix); }
    std::unique_ptr<weft::cluster::name_watch> watch(std::string_view prefix, std::uint64_t from_revision) override {
        return of_->watch(prefix, from_revision);
    }

private:
    const std::shared_ptr<weft::cluster::name_store> of_;
    mutable std::mutex lock_;  // guards removed_
    std::set<std::uint64_t> removed_;
    std::chrono::nanoseconds delay_{}, jumped_{};
    std::uint64_t last_lease_ = 0;
    bool is_killed_ = false;
};

}  // namespace linearizability

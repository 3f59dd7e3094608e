// watched_store.hpp - a name_store that remembers which entries it has said to be gone.
#pragma once

#include <memory>
#include <set>
#include <utility>

#include <weft/cluster/name_store.hpp>

namespace linearizability {

/// name_lease::release() returns nothing; this tells whether the store has answered it.
class watched_store final : public weft::cluster::name_store {
public:
    explicit watched_store(std::shared_ptr<weft::cluster::name_store> of) : of_(std::move(of)) {}

    bool has_removed(std::uint64_t token) const { return removed_.contains(token); }

    std::chrono::nanoseconds clock() const noexcept override { return of_->clock(); }
    std::uint64_t grant(std::chrono::nanoseconds ttl) override { return of_->grant(ttl); }
    std::optional<std::chrono::nanoseconds> renew(std::uint64_t lease) override { return of_->renew(lease); }
    void revoke(std::uint64_t lease) override { of_->revoke(lease); }
    std::optional<std::uint64_t> claim(std::string_view key, std::string_view value, std::uint64_t lease) override {
        return of_->claim(key, value, lease);
    }
    std::optional<std::uint64_t> replace(std::string_view key, std::uint64_t token, std::string_view value,
                                         std::uint64_t lease) override {
        return of_->replace(key, token, value, lease);
    }
    bool remove(std::string_view key, std::uint64_t token) override {
        const bool was_there = of_->remove(key, token);
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
    std::set<std::uint64_t> removed_;
};

}  // namespace linearizability

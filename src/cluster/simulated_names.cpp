// simulated_names.cpp - one lock and one condition for the store and its watches.
#include <weft/cluster/simulated_names.hpp>

#include <algorithm>
#include <map>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

#include "cluster/simulated_access.hpp"

namespace weft::cluster {

namespace detail {

using time_point = std::chrono::steady_clock::time_point;

constexpr std::uint64_t no_lease = 0;

struct simulated_entry {
    std::string value;
    std::uint64_t token, lease;
};
struct simulated_lease {
    std::chrono::nanoseconds ttl;
    time_point ends;
};
struct logged_change {
    std::uint64_t revision;
    name_change what;
};

struct simulated_entries : simulated_access {
    std::uint64_t revision = 1, last_lease = 0;
    std::map<std::string, simulated_entry, std::less<>> entries;
    std::map<std::uint64_t, simulated_lease> leases;
    std::vector<logged_change> log;

    /// 0: there is none.
    std::uint64_t token_of(std::string_view key) const {
        const auto found = entries.find(key);
        return found == entries.end() ? 0 : found->second.token;
    }
    void put(std::string_view key, std::string_view value, std::uint64_t lease) {
        ++revision;
        entries.insert_or_assign(std::string(key), simulated_entry{std::string(value), revision, lease});
        log.push_back({revision, {.now = {std::string(key), std::string(value), revision}}});
        changed.notify_all();
    }
    void erase(const std::string& key) {
        entries.erase(key);
        ++revision;
        log.push_back({revision, {.now = {key, {}, revision}, .is_gone = true}});
        changed.notify_all();
    }
    void end_lease(std::uint64_t lease) {
        leases.erase(lease);
        std::vector<std::string> keys;
        for (const auto& [key, e] : entries)
            if (e.lease == lease) keys.push_back(key);
        for (const auto& key : keys) erase(key);
    }
    /// Ends the leases whose time has passed. Called before each look.
    void expire() {
        if (!has_leader) return;
        std::vector<std::uint64_t> ended;
        for (const auto& [id, l] : leases)
            if (l.ends <= weft::now()) ended.push_back(id);
        for (const auto id : ended) end_lease(id);
    }
    time_point next_end() const {
        auto earliest = time_point::max();
        if (has_leader)
            for (const auto& [_, l] : leases) earliest = std::min(earliest, l.ends);
        return earliest;
    }
};

namespace {

class simulated_watch final : public name_watch {
public:
    simulated_watch(std::shared_ptr<simulated_entries> s, std::string host, std::string prefix, std::uint64_t from)
        : state_(std::move(s)), host_(std::move(host)), prefix_(std::move(prefix)), from_(from) {}

    bool receive(name_change& into) override {
        std::unique_lock guard(state_->lock);
        for (;;) {
            if (is_closed_) return false;
            state_->expire();
            if (!state_->is_cut(host_) && !state_->is_frozen(host_)) {
                const auto next = std::ranges::find_if(state_->log, [&](const logged_change& c) {
                    return c.revision >= from_ && c.what.now.key.starts_with(prefix_);
                });
                if (next != state_->log.end()) {
                    from_ = next->revision + 1;
                    into = next->what;
                    return true;
                }
            }
            state_->changed.wait_until(guard, state_->next_end());
        }
    }
    void close() noexcept override {
        const std::lock_guard guard(state_->lock);
        is_closed_ = true;
        state_->changed.notify_all();
    }

private:
    std::shared_ptr<simulated_entries> state_;
    const std::string host_, prefix_;
    std::uint64_t from_;
    bool is_closed_ = false;
};

class simulated_store final : public name_store {
public:
    simulated_store(std::shared_ptr<simulated_entries> s, std::string host) : state_(std::move(s)), host_(std::move(host)) {}

    std::chrono::nanoseconds clock() const noexcept override { return weft::now().time_since_epoch(); }

    std::uint64_t grant(std::chrono::nanoseconds ttl) override {
        return call([&] {
            state_->leases[++state_->last_lease] = {.ttl = ttl, .ends = weft::now() + ttl};
            return state_->last_lease;
        });
    }
    std::optional<std::chrono::nanoseconds> renew(std::uint64_t lease) override {
        return call([&]() -> std::optional<std::chrono::nanoseconds> {
            const auto found = state_->leases.find(lease);
            if (found == state_->leases.end()) return std::nullopt;
            found->second.ends = weft::now() + found->second.ttl;
            return found->second.ttl;
        });
    }
    void revoke(std::uint64_t lease) override {
        call([&] {
            state_->end_lease(lease);
            return 0;
        });
    }
    std::optional<std::uint64_t> claim(std::string_view key, std::string_view value, std::uint64_t lease) override {
        return call([&]() -> std::optional<std::uint64_t> {
            if (state_->entries.contains(key) || !state_->leases.contains(lease)) return std::nullopt;
            state_->put(key, value, lease);
            return state_->revision;
        });
    }
    std::optional<std::uint64_t> replace(std::string_view key, std::uint64_t token, std::string_view value,
                                         std::uint64_t lease) override {
        return call([&]() -> std::optional<std::uint64_t> {
            const auto found = state_->entries.find(key);
            if (found == state_->entries.end() || found->second.token != token || !state_->leases.contains(lease))
                return std::nullopt;
            state_->put(key, value, lease);
            return state_->revision;
        });
    }
    std::optional<std::uint64_t> put_as_owner(std::string_view key, std::string_view value, std::uint64_t before,
                                              std::string_view name, std::uint64_t token) override {
        return call([&]() -> std::optional<std::uint64_t> {
            if (state_->token_of(name) != token || state_->token_of(key) != before) return std::nullopt;
            state_->put(key, value, no_lease);
            return state_->revision;
        });
    }
    bool remove(std::string_view key, std::uint64_t token) override {
        return call([&] {
            const auto found = state_->entries.find(key);
            if (found == state_->entries.end() || found->second.token != token) return false;
            state_->erase(std::string(key));
            return true;
        });
    }
    std::optional<stored> find(std::string_view key) override {
        return call([&]() -> std::optional<stored> {
            const auto found = state_->entries.find(key);
            if (found == state_->entries.end()) return std::nullopt;
            return stored{found->first, found->second.value, found->second.token};
        });
    }
    listing list(std::string_view prefix) override {
        return call([&] {
            listing all{.entries = {}, .revision = state_->revision};
            for (const auto& [key, e] : state_->entries)
                if (key.starts_with(prefix)) all.entries.push_back({key, e.value, e.token});
            return all;
        });
    }
    std::unique_ptr<name_watch> watch(std::string_view prefix, std::uint64_t from_revision) override {
        return std::make_unique<simulated_watch>(state_, host_, std::string(prefix), from_revision);
    }

private:
    template <class F>
    std::invoke_result_t<F> call(F&& work) {
        return state_->call(host_, [&](const auto&) {
            state_->expire();
            return work();
        });
    }

    std::shared_ptr<simulated_entries> state_;
    const std::string host_;
};

}  // namespace
}  // namespace detail

simulated_names::simulated_names(const store_faults& faults) : state_(std::make_shared<detail::simulated_entries>()) {
    state_->set_faults(faults);
}

simulated_names::~simulated_names() = default;

std::shared_ptr<name_store> simulated_names::at(std::string_view host) {
    return std::make_shared<detail::simulated_store>(state_, std::string(host));
}

void simulated_names::set_faults(const store_faults& faults) { state_->set_faults(faults); }
void simulated_names::set_faults(std::string_view host, const store_faults& faults) { state_->set_faults(host, faults); }
void simulated_names::cut(std::string_view host) { state_->cut(host); }
void simulated_names::heal(std::string_view host) { state_->heal(host); }
void simulated_names::freeze(std::string_view host) { state_->freeze(host); }
void simulated_names::thaw(std::string_view host) { state_->thaw(host); }

void simulated_names::lose_leader() {
    const std::lock_guard guard(state_->lock);
    state_->expire();
    state_->has_leader = false;
}

void simulated_names::recover() {
    const std::lock_guard guard(state_->lock);
    state_->has_leader = true;
    for (auto& [_, l] : state_->leases) l.ends = weft::now() + l.ttl;
    state_->changed.notify_all();
}

}  // namespace weft::cluster

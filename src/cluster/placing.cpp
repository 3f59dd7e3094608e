// placing.cpp - a node's placed actors: their list, their doors, and how they learn that a name is free.
#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include <weft/fiber.hpp>

#include "cluster/node_core.hpp"
#include "cluster/placed.hpp"
#include "cluster/subject.hpp"

namespace weft::cluster::detail {

std::shared_ptr<placed_core> place(node_core& by, std::string_view name, const place_options& options, const placed_kind& kind) {
    require_long_name(name);
    static_cast<void>(by.names());
    return by.place(std::make_shared<placed_core>(by, name, options, kind));
}

std::shared_ptr<placed_core> node_core::place(std::shared_ptr<placed_core> made) {
    const lock guard(lock_);
    if (is_closed_ || ends_placements_) throw_closed();
    if (!placed_.emplace(made->name(), made).second)
        throw std::invalid_argument("weft: node '" + options_.name + "' has placed '" + made->name() + "' already");
    if (!std::exchange(watches_names_, true)) start_soon([this] { watch_names(); });
    start_soon([made] { made->run(); });
    return made;
}

void node_core::end_placement(const std::shared_ptr<placed_core>& p) noexcept {
    p->end();
    if (!p->has_ended()) return;  // it waits for the store still
    const lock guard(lock_);
    const auto found = placed_.find(p->name());
    if (found != placed_.end() && found->second == p) placed_.erase(found);
}

/// The node is being closed.
void node_core::end_placements() noexcept {
    std::map<std::string, std::shared_ptr<placed_core>, std::less<>> all;
    {
        const lock guard(lock_);
        ends_placements_ = true;
        all = placed_;
    }
    for (const auto& [_, p] : all) p->ask_to_end();
    for (const auto& [_, p] : all) end_placement(p);
}

void node_core::each_placement(void (placed_core::*f)() noexcept) noexcept {
    std::map<std::string, std::shared_ptr<placed_core>, std::less<>> all;
    {
        const lock guard(lock_);
        all = placed_;
    }
    for (const auto& [_, p] : all) (*p.*f)();
}

/// Wakes the placement whose name has got an owner or has none now. One fiber for all names: a watch of its own
/// for each would be a connection to the store for each.
void node_core::watch_names() {
    auto& store = membership_->store();
    const auto prefix = membership_->prefix() + "name/";
    for (;;) {
        try {
            const auto now = store.list(prefix);
            each_placement(&placed_core::wake);
            const auto changes = store.watch(prefix, now.revision + 1);
            name_change c;
            while (changes->receive(c)) {
                std::shared_ptr<placed_core> of;
                {
                    const lock guard(lock_);
                    if (const auto found = placed_.find(std::string_view(c.now.key).substr(prefix.size()));
                        found != placed_.end())
                        of = found->second;
                }
                if (of) of->wake();
            }
            return;
        } catch (const std::system_error&) {  // out of reach, or changes were missed: list anew
        }
        weft::this_fiber::sleep_for(options_.lease / 20);
    }
}

std::uint64_t node_core::reserve_serial() {
    const lock guard(lock_);
    return ++last_serial_;
}

/// Opens or closes an exposed actor to messages.
void node_core::set_doors(std::uint64_t serial, bool open) {
    const lock guard(lock_);
    if (const auto found = exposed_.find(serial); found != exposed_.end()) found->second->is_leaving = !open;
}

/// \returns whether messages that were accepted are not in the actor's mailbox yet
bool node_core::is_delivering_to(std::uint64_t serial) {
    const lock guard(lock_);
    if (delivering_to_ == serial) return true;
    return std::ranges::any_of(contacts_, [&](const auto& c) {
        const auto from = c.second->inbound_of.find(serial);
        return from != c.second->inbound_of.end() && from->second->is_admitting;
    });
}

/// PLACED-2
std::optional<std::uint64_t> node_core::put_as_owner(const std::string& key, const std::string& value, std::uint64_t before,
                                                     const std::string& name, std::uint64_t token) {
    auto& store = membership_->store();
    const auto name_key = membership_->prefix() + "name/" + name;
    if (faults_.stores_without_token) {
        const auto owner = store.find(name_key);
        const auto there = store.find(key);
        if (!owner) return std::nullopt;
        return store.put_as_owner(key, value, there ? there->token : 0, name_key, owner->token);
    }
    return store.put_as_owner(key, value, before, name_key, token);
}

}  // namespace weft::cluster::detail

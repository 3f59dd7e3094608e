// relations.cpp - links between actors and supervisors, monitors of actors, and their names.
//
// Invariants
//   RELATIONS-1  One lock guards all of them. It is a futex_lock, since they rarely change and
//                memory is allocated under it. No user code runs under it.
//   RELATIONS-2  A link is in the lists of both ends, and each entry holds the other end. Code that
//                removes a link from one list removes it from both. It holds both ends itself, so
//                none is destroyed under the lock.
//   RELATIONS-3  A name refers to an actor that has not ended, and holds a reference to it.
#include <weft/detail/annotated_locks.hpp>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>

#include <weft/detail/supervisor_core.hpp>

#include "actor/actor_core.hpp"
#include "base/fork.hpp"
#include "base/futex_lock.hpp"
#include "base/never_destroyed.hpp"
#include "sync/channel_core.hpp"

namespace weft::detail {
namespace {

using link_list = std::vector<linkable::link>;

struct all_relations {
    futex_lock lock;
    std::map<std::string, actor_core_ref, std::less<>> names WEFT_GUARDED_BY(lock);
};

all_relations& relations() noexcept {
    static never_destroyed<all_relations> one;  // outlives every actor and static object
    return *one;
}

// FORK-3
[[gnu::constructor(before_static_objects)]] void relations_follow_forks() noexcept { hold_lock_across_forks<relations>(); }

auto leads_to(const linkable& end) noexcept {
    return [&end](const linkable::link& l) { return l.other.get() == &end; };
}

bool is_open(const channel_ref& monitor) noexcept { return !monitor.core().was_closed(); }

void tell(const channel_ref& monitor, exit_reason why) noexcept {
    channel_try_send(monitor.core(), &why);
    channel_close(monitor.core());
}

}  // namespace

std::exception_ptr failure_of_link(std::string_view other, const exit_reason& why) noexcept try {
    return std::make_exception_ptr(linked_failure(other, why));
} catch (...) {
    return std::current_exception();
}

void link_ends(linkable& a, linkable& b) {
    if (&a == &b) return;
    auto held_a = a.held(), held_b = b.held();
    linkable* gone = nullptr;
    {
        const lock_guard guard(relations().lock);
        gone = a.has_ended() ? &a : b.has_ended() ? &b : nullptr;
        if (!gone && std::ranges::none_of(a.links, leads_to(b))) {
            if (a.links.size() == a.links.capacity()) a.links.reserve(2 * a.links.size() + 1);
            b.links.push_back({.other = std::move(held_a)});
            a.links.push_back({.other = std::move(held_b)});
        }
    }
    if (gone) gone->throw_gone();
}

void unlink_ends(linkable& a, linkable& b) noexcept {
    const lock_guard guard(relations().lock);
    std::erase_if(a.links, leads_to(b));
    std::erase_if(b.links, leads_to(a));
}

linkable& end_of_link(actor_core& a) noexcept { return a; }
void actor_link(actor_core& a, actor_core& b) { link_ends(a, b); }
void actor_unlink(actor_core& a, actor_core& b) noexcept { unlink_ends(a, b); }

void break_links(linkable& a, const exit_reason& why) noexcept {
    link_list others;
    {
        const lock_guard guard(relations().lock);
        others.swap(a.links);
        for (auto& [o, life] : others) {
            std::erase_if(o->links, leads_to(a));
            life = o->life();  // ACTOR_CORE-6
        }
    }
    if (!why.abnormal()) return;
    for (const auto& [o, life] : others) o->linked_end(life, a.name(), why);
}

receiver<exit_reason> actor_monitor(actor_core& a) {
    channel_ref made(make_channel(typed_element<exit_reason>::operations, 1));
    keep_channel(made.core());
    receiver<exit_reason> rx(made);
    {
        const lock_guard guard(relations().lock);
        if (!a.has_ended()) {
            // remove monitors whose receivers are gone
            std::erase_if(a.monitors, [](const channel_ref& m) { return !is_open(m); });
            a.monitors.push_back(std::move(made));
            return rx;
        }
    }
    tell(made, a.why());
    return rx;
}

bool tell_monitors(actor_core& a, const exit_reason& why) noexcept {
    std::vector<channel_ref> monitors;
    actor_core_ref named;
    {
        const lock_guard guard(relations().lock);
        monitors.swap(a.monitors);
        if (const auto at = relations().names.find(a.registered_as); at != relations().names.end() && at->second.get() == &a) {
            named = std::move(at->second);  // dropped without the lock
            relations().names.erase(at);
        }
    }
    bool somebody = false;
    for (const auto& m : monitors) {
        somebody |= is_open(m);
        tell(m, why);
    }
    return somebody;
}

bool actor_register(std::string_view name, actor_core& a) {
    if (name.empty()) throw std::invalid_argument("weft: register_actor() needs a name that is not empty");
    add_actor_ref(a);
    actor_core_ref ref(&a);
    bool has_ended, is_new = false;
    {
        const lock_guard guard(relations().lock);
        has_ended = a.has_ended();
        if (!has_ended && a.registered_as.empty()) is_new = relations().names.try_emplace(std::string(name), ref).second;
        if (is_new) a.registered_as = name;
    }
    if (has_ended) a.throw_gone();
    return is_new;
}

bool actor_unregister(std::string_view name) noexcept {
    actor_core_ref named;  // dropped without the lock
    const lock_guard guard(relations().lock);
    const auto at = relations().names.find(name);
    if (at == relations().names.end()) return false;
    named = std::move(at->second);
    named.core().registered_as.clear();
    relations().names.erase(at);
    return true;
}

actor_core* actor_find(std::string_view name, const std::type_info& type) noexcept {
    const lock_guard guard(relations().lock);
    const auto at = relations().names.find(name);
    if (at == relations().names.end() || at->second.core().type() != type) return nullptr;
    add_actor_ref(at->second.core());
    return at->second.get();
}

}  // namespace weft::detail

// relations.cpp - links and monitors between actors, and their names.
//
// Invariants
//   RELATIONS-1  One lock guards all of them. It is a std::mutex, since they rarely change and
//                memory is allocated under it. No user code runs under it.
//   RELATIONS-2  A link is in the lists of both actors, and each entry holds the other actor. Code
//                that removes a link from one list removes it from both.
//   RELATIONS-3  A name refers to an actor that has not ended, and holds a reference to it.
#include <algorithm>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>

#include "actor/actor_core.hpp"
#include "base/fork.hpp"
#include "base/never_destroyed.hpp"

namespace weft::detail {
namespace {

using link_list = std::vector<actor_core::link>;

struct all_relations {
    std::mutex lock;
    std::map<std::string, actor_core_ref, std::less<>> names;
};

all_relations& relations() noexcept {
    static never_destroyed<all_relations> one;  // outlives every actor and static object
    return *one;
}

// FORK-3
[[gnu::constructor(before_static_objects)]] void relations_follow_forks() noexcept { hold_lock_across_forks<relations>(); }

bool remove_from(link_list& list, const actor_core* who) noexcept {
    return std::erase_if(list, [=](const actor_core::link& l) { return l.other == who; }) != 0;
}

bool is_open(const channel_ref& monitor) noexcept { return !channel_is_closed(monitor.core()); }

void tell(const channel_ref& monitor, exit_reason why) noexcept {
    channel_try_send(monitor.core(), &why);
    channel_close(monitor.core());
}

}  // namespace

void actor_link(actor_core& a, actor_core& b) {
    if (&a == &b) return;
    actor_core* gone = nullptr;
    {
        const std::lock_guard guard(relations().lock);
        gone = a.has_ended() ? &a : b.has_ended() ? &b : nullptr;
        if (!gone && std::ranges::find(a.links, &b, &actor_core::link::other) == a.links.end()) {
            a.links.reserve(a.links.size() + 1);
            b.links.push_back({&a});
            a.links.push_back({&b});
            a.hold();
            b.hold();
        }
    }
    if (gone) gone->throw_gone();
}

void actor_unlink(actor_core& a, actor_core& b) noexcept {
    bool was_linked;
    {
        const std::lock_guard guard(relations().lock);
        was_linked = remove_from(a.links, &b) && remove_from(b.links, &a);
    }
    if (!was_linked) return;
    a.let_go();
    b.let_go();
}

void break_links(actor_core& a, const exit_reason& why) noexcept {
    link_list others;
    {
        const std::lock_guard guard(relations().lock);
        others.swap(a.links);
        for (auto& [o, life] : others) {
            remove_from(o->links, &a);
            life = o->life();  // ACTOR_CORE-6
        }
    }
    for (const auto& [o, life] : others) {
        if (why.abnormal()) o->linked_end(life, a.name(), why);
        o->let_go();
        a.let_go();  // for the entry of the other actor
    }
}

receiver<exit_reason> actor_monitor(actor_core& a) {
    channel_ref made(make_channel(typed_element<exit_reason>::operations, 1));
    keep_channel(made.core());
    receiver<exit_reason> rx(made);
    {
        const std::lock_guard guard(relations().lock);
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
        const std::lock_guard guard(relations().lock);
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
        const std::lock_guard guard(relations().lock);
        has_ended = a.has_ended();
        if (!has_ended && a.registered_as.empty()) is_new = relations().names.try_emplace(std::string(name), ref).second;
        if (is_new) a.registered_as = name;
    }
    if (has_ended) a.throw_gone();
    return is_new;
}

bool actor_unregister(std::string_view name) noexcept {
    actor_core_ref named;  // dropped without the lock
    const std::lock_guard guard(relations().lock);
    const auto at = relations().names.find(name);
    if (at == relations().names.end()) return false;
    named = std::move(at->second);
    named.core().registered_as.clear();
    relations().names.erase(at);
    return true;
}

actor_core* actor_find(std::string_view name, const std::type_info& type) noexcept {
    const std::lock_guard guard(relations().lock);
    const auto at = relations().names.find(name);
    if (at == relations().names.end() || at->second.core().type() != type) return nullptr;
    add_actor_ref(at->second.core());
    return at->second.get();
}

}  // namespace weft::detail

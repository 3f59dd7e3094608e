// resolver.cpp - a cache of look-ups in which each name is looked up by one caller at a time.
//
//  an entry   is in the map  its event  leaves by
//  under way  yes            not set    the look-up's end -> known | an interrupt, what look_up throws -> given up | forget()
//  known      yes            set        its time, forget(), most
//  given up   no             set        the last caller that has it
//
// Invariants
//   RESOLVER-1  The map, and whether an entry is in it, change only under lock_.
//   RESOLVER-2  One caller, which has made the entry, writes its results. It sets the event after that, and the
//               results do not change any more. All others read them after the event.
//   RESOLVER-3  The caller that has made an entry sets its event, whatever happens. If the entry is given up, its
//               waiters look in the map again, and one of them makes another entry.
#include <weft/net/resolver.hpp>

#include <stdexcept>
#include <unordered_map>
#include <utility>

#include <weft/detail/annotated_locks.hpp>
#include <weft/event.hpp>
#include <weft/mutex.hpp>
#include <weft/net/resolve.hpp>
#include <weft/stop.hpp>

#include "fiber/interrupts.hpp"
#include "io/operation.hpp"
#include "net/host.hpp"
#include "net/socket_address.hpp"

namespace weft::net {
namespace {

/// One look-up and its result.
struct looked_up {
    event done;
    bool is_given_up = false;
    std::error_code error;
    std::vector<endpoint> found;
    detail::time_point until = detail::never;  // RESOLVER-1: of an entry that is known
};

using shared_entry = std::shared_ptr<looked_up>;

/// Names do not depend on their case.
std::string key_of(std::string_view host) {
    std::string key(host);
    for (char& c : key)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 0x20);
    return key;
}

bool is_name(std::string_view host) {
    return !host.empty() && !detail::is_unix(host) && detail::is_host(host) &&
           !detail::parse_numeric({.host = std::string(host), .port = 0});
}

}  // namespace

struct resolver::state {
    explicit state(resolver_options o) : options(std::move(o)) {}

    std::vector<endpoint> resolve(std::string_view host, std::uint16_t port, std::error_code& error);
    void forget(std::string_view host);

    const resolver_options options;
    weft::mutex lock;
    std::unordered_map<std::string, shared_entry> entries WEFT_GUARDED_BY(lock);

private:
    shared_entry enter(const std::string& key, bool& is_own);
    void look_up(const std::string& key, looked_up& into);
    void settle(const std::string& key, const shared_entry& e, bool keeps);
    void make_room() WEFT_REQUIRES(lock);
};

/// \returns  the entry of that name, which the caller has to look up if it is its own.
shared_entry resolver::state::enter(const std::string& key, bool& is_own) {
    const auto now = detail::clock::now();
    const detail::lock_guard guard(lock);
    if (const auto at = entries.find(key); at != entries.end()) {
        is_own = false;
        if (!at->second->done.is_set() || now < at->second->until) return at->second;
        entries.erase(at);
    }
    if (entries.size() >= options.most) make_room();
    is_own = true;
    return entries.emplace(key, std::make_shared<looked_up>()).first->second;
}

/// Forgets the name whose time ends first. Those under way stay.
void resolver::state::make_room() {
    auto first = entries.end();
    for (auto at = entries.begin(); at != entries.end(); ++at)
        if (at->second->done.is_set() && (first == entries.end() || at->second->until < first->second->until)) first = at;
    if (first != entries.end()) entries.erase(first);
}

void resolver::state::look_up(const std::string& key, looked_up& into) {
    if (!options.look_up) {
        into.found = net::resolve(key, 0, into.error);
        return;
    }
    try {
        into.found = options.look_up(key);
        if (into.found.empty()) throw std::system_error(std::make_error_code(std::errc::address_not_available));
    } catch (const std::system_error& e) {
        into.error = e.code();
    }
}

/// RESOLVER-3.
void resolver::state::settle(const std::string& key, const shared_entry& e, bool keeps) {
    {
        const detail::lock_guard guard(lock);
        e->is_given_up = !keeps;
        const auto life = e->error ? options.failure_life : options.life;
        const auto at = entries.find(key);
        if (at != entries.end() && at->second == e) {  // else it was forgotten meanwhile
            if (keeps && life > life.zero())
                e->until = detail::deadline_after(life);
            else
                entries.erase(at);
        }
        e->done.set();
    }
}

std::vector<endpoint> resolver::state::resolve(std::string_view host, std::uint16_t port, std::error_code& error) {
    const auto key = key_of(host);
    for (;;) {
        bool is_own = false;
        const auto e = enter(key, is_own);
        if (is_own) {
            try {
                look_up(key, *e);
            } catch (...) {
                settle(key, e, false);
                throw;
            }
            // An interrupt of this caller, or a lack of memory or descriptors, says nothing about the name.
            const bool is_answer = !e->error || e->error.category() == resolve_category();
            settle(key, e, is_answer || options.look_up);
        } else {
            e->done.wait();
            if (e->is_given_up) continue;
        }
        error = e->error;
        auto found = e->found;
        for (auto& address : found) address.port = port;
        return found;
    }
}

void resolver::state::forget(std::string_view host) {
    const auto key = key_of(host);
    const detail::lock_guard guard(lock);
    entries.erase(key);
}

resolver::resolver(resolver_options options) {
    if (options.most == 0) throw std::invalid_argument("weft: net::resolver: most is zero");
    for (const auto life : {options.life, options.failure_life})
        if (life < life.zero()) throw std::invalid_argument("weft: net::resolver: a life is less than zero");
    state_ = std::make_unique<state>(std::move(options));
}

resolver::~resolver() = default;

std::vector<endpoint> resolver::resolve(std::string_view host, std::uint16_t port, std::error_code& error) {
    if (!is_name(host)) return net::resolve(host, port, error);
    error.clear();
    if (const auto interrupt = detail::pending_interrupt()) {
        error = detail::interrupt_error(*interrupt);
        return {};
    }
    try {
        return state_->resolve(host, port, error);
    } catch (const cancelled&) {
        error = detail::interrupt_error(detail::interrupt_reason());
    } catch (const std::system_error& e) {
        error = e.code();
    }
    return {};
}

std::vector<endpoint> resolver::resolve(std::string_view host, std::uint16_t port) {
    if (!is_name(host)) return net::resolve(host, port);
    detail::check_interrupt();
    std::error_code error;
    auto found = state_->resolve(host, port, error);
    if (error) detail::throw_io_error(error, ("weft: resolve " + std::string(host)).c_str());
    return found;
}

void resolver::forget(std::string_view host) { state_->forget(host); }

void resolver::clear() {
    const detail::lock_guard guard(state_->lock);
    state_->entries.clear();
}

}  // namespace weft::net

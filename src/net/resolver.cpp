// resolver.cpp - a cache of look-ups in which each name is looked up by one caller at a time.
//
//  an entry   is in the map  its event  leaves by
//  under way  yes            not set    the look-up's end -> known | told | given up; forget()
//  known      yes            set        its time, forget(), most
//  told       no             set        the last caller that has it
//  given up   no             set        the last caller that has it
//
// The system's look-up runs on a thread of the pool for look-ups and lasts as long as it lasts; callers only wait for
// its entry, and leave as they like. One by options.look_up runs on its caller, since it may park, and ends with
// it: what an interrupted one has found says nothing, and its entry is given up.
//
// Invariants
//   RESOLVER-1  The map, and whether an entry is in it, change only under lock.
//   RESOLVER-2  One thread or fiber, which has the duty of an entry, writes its results. It sets the event after
//               that, and the results do not change any more. All others read them after the event.
//   RESOLVER-3  The duty ends with the event, whatever happens; without a result the entry is given up, its
//               waiters look in the map again, and one of them makes another entry.
//   RESOLVER-4  The duty shares the state, so a look-up of the system that nobody waits for may outlive the resolver.
#include <weft/net/resolver.hpp>

#include <netdb.h>

#include <exception>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include <weft/detail/annotated_locks.hpp>
#include <weft/event.hpp>
#include <weft/mutex.hpp>
#include <weft/net/resolve.hpp>
#include <weft/stop.hpp>

#include "fiber/interrupts.hpp"
#include "io/blocking_calls.hpp"
#include "io/operation.hpp"
#include "io/refused_here.hpp"
#include "net/host.hpp"
#include "net/look_up.hpp"
#include "net/socket_address.hpp"

namespace weft::net {
namespace {

/// One look-up and its result.
struct looked_up {
    event done;
    bool is_given_up = false;
    std::error_code error;
    std::exception_ptr failure;  // what options.look_up has thrown, if that is no std::system_error
    std::vector<endpoint> found;
    detail::time_point until = detail::never;  // RESOLVER-1: of an entry that is known
};

using shared_entry = std::shared_ptr<looked_up>;

/// A lack of memory or descriptors, or a name service that does not answer, says nothing about the name.
bool says_no_address(const std::error_code& e) noexcept {
    return e.category() == resolve_category() &&
           (e.value() == EAI_NONAME || e.value() == EAI_NODATA || e.value() == EAI_ADDRFAMILY);
}

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

struct resolver::state : std::enable_shared_from_this<state> {
    explicit state(resolver_options o) : options(std::move(o)) {}

    std::vector<endpoint> resolve(std::string_view host, std::uint16_t port, std::error_code& error);
    void forget(std::string_view host);

    const resolver_options options;
    weft::mutex lock;
    std::unordered_map<std::string, shared_entry> entries WEFT_GUARDED_BY(lock);

private:
    class duty;
    enum class ending : std::uint8_t { known, told, given_up };

    shared_entry enter(const std::string& key, bool& is_own);
    void begin(duty mine);
    void look_up(duty mine);
    void settle(const std::string& key, const shared_entry& e, ending how) noexcept;
    void make_room() WEFT_REQUIRES(lock);
};

/// RESOLVER-3.
class resolver::state::duty {
public:
    duty(state& s, std::string key, shared_entry e) : in_(s.shared_from_this()), key_(std::move(key)), entry_(std::move(e)) {}
    duty(duty&&) noexcept = default;
    duty& operator=(duty&&) = delete;
    ~duty() { end(ending::given_up); }

    const std::string& key() const noexcept { return key_; }
    looked_up& result() const noexcept { return *entry_; }
    void end(ending how) noexcept {
        if (const auto e = std::move(entry_)) in_->settle(key_, e, how);
    }

private:
    std::shared_ptr<state> in_;
    std::string key_;
    shared_entry entry_;  // null: ended, or moved
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

/// Has the system look the name up, on a thread.
///
/// \throws  std::system_error if there is no thread.
void resolver::state::begin(duty mine) {
    detail::blocking_detached_in(detail::pool_for::look_ups, [mine = std::move(mine)]() mutable {
        auto& result = mine.result();
        try {
            auto answer = detail::look_up_name(mine.key(), 0);
            result.error = answer.error;
            result.found = std::move(answer.addresses);
        } catch (const std::bad_alloc&) {
            result.error = std::make_error_code(std::errc::not_enough_memory);
        }
        mine.end(!result.error || says_no_address(result.error) ? ending::known : ending::told);
    });
}

/// Looks the name up by options.look_up.
void resolver::state::look_up(duty mine) {
    auto& result = mine.result();
    try {
        result.found = options.look_up(mine.key());
        if (result.found.empty()) throw std::system_error(std::make_error_code(std::errc::address_not_available));
    } catch (const std::system_error& e) {
        detail::check_interrupt();  // the error may be no more than that
        result.error = e.code();
    } catch (const cancelled&) {
        throw;
    } catch (...) {
        detail::check_interrupt();
        result.failure = std::current_exception();
    }
    mine.end(result.failure ? ending::told : ending::known);
}

void resolver::state::settle(const std::string& key, const shared_entry& e, ending how) noexcept {
    const detail::lock_guard guard(lock);
    e->is_given_up = how == ending::given_up;
    const auto life = e->error ? options.failure_life : options.life;
    const auto at = entries.find(key);
    if (at != entries.end() && at->second == e) {  // else it was forgotten meanwhile
        if (how == ending::known && life > life.zero())
            e->until = detail::deadline_after(life);
        else
            entries.erase(at);
    }
    e->done.set();
}

std::vector<endpoint> resolver::state::resolve(std::string_view host, std::uint16_t port, std::error_code& error) {
    if (!options.look_up && (error = detail::refused_here())) return {};
    const auto key = key_of(host);
    shared_entry e;
    do {
        bool is_own = false;
        e = enter(key, is_own);
        if (is_own && options.look_up)
            look_up({*this, key, e});
        else if (is_own)
            begin({*this, key, e});
        e->done.wait();
    } while (e->is_given_up);
    if (e->failure) std::rethrow_exception(e->failure);
    error = e->error;
    auto found = e->found;
    for (auto& address : found) address.port = port;
    return found;
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
    state_ = std::make_shared<state>(std::move(options));
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

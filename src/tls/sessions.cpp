#include "tls/sessions.hpp"

#include <utility>

namespace weft::detail {
namespace {

constexpr std::size_t most_servers = 256;    // chosen: some MiB at most
constexpr std::size_t most_per_server = 4;   // chosen: a server of TLS 1.3 mostly gives two at once

}  // namespace

tls_sessions::entry* tls_sessions::find(const std::string& server) {
    const auto at = by_server_.find(server);
    if (at == by_server_.end()) return nullptr;
    entries_.splice(entries_.end(), entries_, at->second);
    return &*at->second;
}

void tls_sessions::put(const std::string& server, ssl_session_ptr session) {
    const lock_guard guard(lock_);
    auto* e = find(server);
    if (!e) {
        entries made;
        made.push_back({.server = server, .sessions = {}});
        by_server_.emplace(made.front().server, made.begin());
        entries_.splice(entries_.end(), made);  // what the map refers to stays as it is
        e = &entries_.back();
    }
    e->sessions.push_back(std::move(session));
    if (e->sessions.size() > most_per_server) e->sessions.pop_front();
    if (entries_.size() <= most_servers) return;
    by_server_.erase(entries_.front().server);
    entries_.pop_front();
}

ssl_session_ptr tls_sessions::take(const std::string& server) {
    const lock_guard guard(lock_);
    auto* const e = find(server);
    if (!e || e->sessions.empty()) return nullptr;
    auto* const newest = e->sessions.back().get();
    if (SSL_SESSION_get_protocol_version(newest) < TLS1_3_VERSION) {
        SSL_SESSION_up_ref(newest);
        return ssl_session_ptr(newest);
    }
    auto taken = std::move(e->sessions.back());
    e->sessions.pop_back();
    return taken;
}

}  // namespace weft::detail

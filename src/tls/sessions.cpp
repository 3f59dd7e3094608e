#include "tls/sessions.hpp"

#include <utility>

namespace weft::detail {
namespace {

constexpr std::size_t most_servers = 256;    // chosen: some MiB at most
constexpr std::size_t most_per_server = 4;   // chosen: a server of TLS 1.3 mostly gives two at once

}  // namespace

void tls_sessions::put(const std::string& server, ssl_session_ptr session) {
    const lock_guard guard(lock_);
    const auto [at, is_new] = entries_.try_emplace(server);
    auto& e = at->second;
    if (is_new)
        e.age = ages_.insert(ages_.end(), &at->first);
    else
        touch(e);
    e.sessions.push_back(std::move(session));
    if (e.sessions.size() > most_per_server) e.sessions.pop_front();
    if (entries_.size() > most_servers) {
        entries_.erase(*ages_.front());
        ages_.pop_front();
    }
}

ssl_session_ptr tls_sessions::take(const std::string& server) {
    const lock_guard guard(lock_);
    const auto at = entries_.find(server);
    if (at == entries_.end() || at->second.sessions.empty()) return nullptr;
    auto& e = at->second;
    touch(e);
    auto* const newest = e.sessions.back().get();
    if (SSL_SESSION_get_protocol_version(newest) < TLS1_3_VERSION) {
        SSL_SESSION_up_ref(newest);
        return ssl_session_ptr(newest);
    }
    auto taken = std::move(e.sessions.back());
    e.sessions.pop_back();
    return taken;
}

void tls_sessions::clear() {
    const lock_guard guard(lock_);
    entries_.clear();
    ages_.clear();
}

}  // namespace weft::detail

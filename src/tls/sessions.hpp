// sessions.hpp - the sessions that clients may resume, by the server that has given them.
#pragma once

#include <deque>
#include <list>
#include <map>
#include <string>
#include <string_view>

#include <weft/detail/annotated_locks.hpp>

#include "base/futex_lock.hpp"
#include "tls/ssl.hpp"

namespace weft::detail {

/// Keeps the newest few sessions of each of the servers that were used last.
class tls_sessions {
public:
    void put(const std::string& server, ssl_session_ptr session);
    /// \returns  the newest one, or null. One of TLS 1.3 is taken out, since each is to be used once only
    ///           [RFC8446, C.4].
    ssl_session_ptr take(const std::string& server);

private:
    struct entry {
        std::string server;
        std::deque<ssl_session_ptr> sessions;  // the newest last
    };
    using entries = std::list<entry>;

    /// Makes it the one that was used last. \returns it, or null.
    entry* find(const std::string& server) WEFT_REQUIRES(lock_);

    futex_lock lock_;
    entries entries_ WEFT_GUARDED_BY(lock_);  // the one used last at the end
    std::map<std::string_view, entries::iterator> by_server_ WEFT_GUARDED_BY(lock_);
};

}  // namespace weft::detail

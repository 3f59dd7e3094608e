// sessions.hpp - the sessions that clients may resume, by the server that has given them.
#pragma once

#include <cstddef>
#include <deque>
#include <list>
#include <map>
#include <string>

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
    void clear();

private:
    struct entry {
        std::deque<ssl_session_ptr> sessions;  // the newest last
        std::list<const std::string*>::iterator age;
    };

    void touch(entry& e) WEFT_REQUIRES(lock_) { ages_.splice(ages_.end(), ages_, e.age); }

    futex_lock lock_;
    std::map<std::string, entry> entries_ WEFT_GUARDED_BY(lock_);
    std::list<const std::string*> ages_ WEFT_GUARDED_BY(lock_);  // keys of entries_, the one used last at the end
};

}  // namespace weft::detail

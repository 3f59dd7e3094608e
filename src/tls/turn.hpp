// turn.hpp - the right to send what a connection has kept.
#pragma once

#include <mutex>

#include "tls/connection.hpp"

namespace weft::detail {

/// TLS_CONNECTION-4
class tls_connection::turn {
public:
    /// \parks  until it is free. \throws weft::cancelled
    explicit turn(tls_connection& c) : connection_(c) { c.turn_.acquire(); }
    turn(tls_connection& c, std::adopt_lock_t) noexcept : connection_(c) {}
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;
    ~turn() {
        connection_.turn_.release();
        // One that has the lock now looks itself when its call has ended.
        bool has_backlog = false;
        {
            const std::unique_lock guard(connection_.lock_, std::try_to_lock);
            if (guard) has_backlog = connection_.wire_.has_backlog();
        }
        if (has_backlog) connection_.settle();
    }

private:
    tls_connection& connection_;
};

}  // namespace weft::detail

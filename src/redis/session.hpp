// session.hpp - what a session holds: the pool, which it keeps alive, and the connection lent by it.
#pragma once

#include <memory>

#include <weft/redis/session.hpp>

#include "redis/own_connection.hpp"

namespace weft::redis {

struct session::impl {
    explicit impl(std::shared_ptr<detail::redis::own_connections> from) : pool(std::move(from)), lent(pool->lend()) {}

    void check(std::span<const argument> words) const { pool->common().rules.check(words, detail::redis::used_by::one); }
    std::vector<value> call(const detail::redis::own_commands& commands) { return (*lent)->call(commands); }

    const std::shared_ptr<detail::redis::own_connections> pool;
    detail::redis::own_connections::lease lent;  // declared after the pool: given back first
};

}  // namespace weft::redis

// open_store.cpp - which database a --store means.
#include "redis_store.hpp"
#include "sqlite_store.hpp"
#include "store.hpp"

namespace users {

std::unique_ptr<store> open_store(const std::string& where, const std::string& ca) {
    if (where.empty()) throw std::invalid_argument("the store is empty; expected a file or redis://host:port");
    if (where.starts_with("redis://") || where.starts_with("redis+unix://")) return std::make_unique<redis_store>(where);
    if (where.starts_with("rediss://")) return std::make_unique<redis_store>(where, ca);
    if (where.find("://") != std::string::npos)
        throw std::invalid_argument("cannot use the store " + where.substr(0, where.find("://")) +
                                    "://...; expected a file or redis://host:port");
    return std::make_unique<sqlite_store>(where);
}

}  // namespace users

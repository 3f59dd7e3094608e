// redis_store.cpp - one command per operation.
#include "redis_store.hpp"

namespace users {

namespace {

std::string key(std::string_view id) { return std::string("user:").append(id); }

}  // namespace

std::optional<user> redis_store::get(std::string_view id) {
    auto name = db_.get(key(id));
    if (!name) return std::nullopt;
    return user{std::string(id), std::move(*name)};
}

void redis_store::put(const user& u) { db_.set(key(u.id), u.name); }

bool redis_store::remove(std::string_view id) { return db_.del(key(id)) != 0; }

}  // namespace users
